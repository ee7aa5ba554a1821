#%Module1.0
# ncforge @VERSION@, for Environment Modules: module use ROOT/share/modulefiles
proc ModulesHelp { } {
    puts stderr "ncforge: fast netCDF (read, copy, combine, compare). `man ncforge`, `ncforge help`"
}
module-whatis "ncforge @VERSION@: @SUMMARY@"
set root $ModulesCurrentModulefile
foreach _ {version name modulefiles share} { set root [file dirname $root] }
prepend-path PATH $root/bin
prepend-path MANPATH $root/share/man
# An empty element stands for the folders that `man` searches by itself.
append-path MANPATH {}
setenv NCFORGE_ROOT $root
