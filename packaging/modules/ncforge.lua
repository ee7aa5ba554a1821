-- ncforge @VERSION@, for Lmod: module use ROOT/share/modulefiles
help([[ncforge: fast netCDF (read, copy, combine, compare). `man ncforge`, `ncforge help`]])
whatis("Name: ncforge")
whatis("Version: @VERSION@")
whatis("Description: @SUMMARY@")
local root = myFileName():match("^(.*)/share/modulefiles/")
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
-- An empty element stands for the folders that `man` searches by itself.
append_path("MANPATH", "")
setenv("NCFORGE_ROOT", root)
