ls -lR /usr/include | md5sum
ls /nowhere/to/be/found
