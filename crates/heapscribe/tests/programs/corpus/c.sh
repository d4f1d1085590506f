# A C program, compiled in three ways and run: $1 is the compiler.
{ i=0; while [ $i -lt 60 ]; do
    echo "static int f$i(int x, char *s) { struct { int a; double b; } v = {x, $i.5}; for (int i = 0; i < x; i++) v.a += s[i % 3] * $i + (int)v.b; return v.a; }"
    i=$((i + 1))
done
echo '#include <stdio.h>'; echo 'int main(void) { long sum = 0;'
i=0; while [ $i -lt 60 ]; do echo "sum += f$i($i, \"abc\");"; i=$((i + 1)); done
echo 'printf("%ld.", sum); return sum % 100; }'; } > work.c
for level in -O0 -O2 -Os; do
    $1 $level -S work.c -o out/work$level.s && $1 $level work.c -o work && ./work; echo "ended with $?"
done
$1 -c -o /dev/null -x c - <<'END'
int main(void) { return nothing; }
END
