! A model whose ranks have some rows each; rank 0 gathers and writes, compressed, with a sync after each step: rows FILE STEPS
program rows
  use mpi
  use netcdf
  implicit none
  integer, parameter :: nx = 300, ny = 240
  real, allocatable :: own(:,:), whole(:,:)
  character(len=1000) :: path, word
  integer :: n, t, i, j, ncid, dims(3), var, rank, ranks, mine, code
  call get_command_argument(1, path)
  call get_command_argument(2, word)
  read (word, *) n
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  mine = ny / ranks
  allocate (own(nx, mine), whole(nx, mine * ranks))
  if (rank == 0) then
    call check(nf90_create(path, nf90_netcdf4, ncid))
    call check(nf90_def_dim(ncid, 'time', nf90_unlimited, dims(3)))
    call check(nf90_def_dim(ncid, 'y', mine * ranks, dims(2)))
    call check(nf90_def_dim(ncid, 'x', nx, dims(1)))
    call check(nf90_def_var(ncid, 'v', nf90_float, dims, var, chunksizes=[nx, 60, 1]))
    call check(nf90_def_var_deflate(ncid, var, 1, 1, 1))
    call check(nf90_enddef(ncid))
  end if
  do t = 1, n
    do j = 1, mine
      do i = 1, nx
        own(i, j) = 280 + 20 * sin(i * 0.01 + t) + 0.001 * mod(i * 7919 + (rank * mine + j) * 104729, 1000)
      end do
    end do
    call MPI_Gather(own, nx * mine, MPI_REAL, whole, nx * mine, MPI_REAL, 0, MPI_COMM_WORLD, code)
    if (rank == 0) then
      call check(nf90_put_var(ncid, var, whole, start=[1, 1, t], count=[nx, mine * ranks, 1]))
      call check(nf90_sync(ncid))
    end if
  end do
  if (rank == 0) call check(nf90_close(ncid))
  call MPI_Finalize(code)
contains
  subroutine check(code)
    integer, intent(in) :: code
    if (code /= nf90_noerr) error stop 1
  end subroutine
end program
