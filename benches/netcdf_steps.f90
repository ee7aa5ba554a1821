! Writes STEPS fields of a model, one after the other, compressed: steps FILE STEPS
program steps
  use netcdf
  implicit none
  integer, parameter :: nx = 1440, ny = 720
  real, allocatable :: field(:,:)
  character(len=1000) :: path, word
  integer :: n, t, i, j, ncid, dims(3), var
  call get_command_argument(1, path)
  call get_command_argument(2, word)
  read (word, *) n
  allocate (field(nx, ny))
  do j = 1, ny
    do i = 1, nx
      field(i, j) = 280 + 20 * sin(i * 0.01) * cos(j * 0.013) + 0.001 * mod(i * 7919 + j * 104729, 1000)
    end do
  end do
  call check(nf90_create(path, nf90_netcdf4, ncid))
  call check(nf90_def_dim(ncid, 'time', nf90_unlimited, dims(3)))
  call check(nf90_def_dim(ncid, 'lat', ny, dims(2)))
  call check(nf90_def_dim(ncid, 'lon', nx, dims(1)))
  call check(nf90_def_var(ncid, 'tas', nf90_float, dims, var))
  call check(nf90_def_var_deflate(ncid, var, 1, 1, 1))
  call check(nf90_enddef(ncid))
  do t = 1, n
    field(1:nx:97, :) = field(1:nx:97, :) + 0.01
    call check(nf90_put_var(ncid, var, field, start=[1, 1, t], count=[nx, ny, 1]))
  end do
  call check(nf90_close(ncid))
contains
  subroutine check(code)
    integer, intent(in) :: code
    if (code /= nf90_noerr) stop 1
  end subroutine
end program
