i=0
while [ $i -lt 8 ]; do echo "int f$i(int x) { return x * $i; }" > f$i.c; i=$((i + 1)); done
printf 'objects = $(patsubst %%.c,%%.o,$(sort $(wildcard *.c)))\nall: $(objects)\n\t@nm $^ | sort\n%%.o: %%.c\n\t@gcc -O1 -c -o $@ $<\n' > Makefile
make -s -j4 2>&1 && make -s -j4 2>&1
