sqlite3 out/a.db <<'END'
create table t(a integer primary key, b text, c real);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 20000)
    insert into t select x, printf('row %d of %x', x, x * 7919 % 65536), x / 7.0 from n;
create index by_b on t(b);
select count(*), sum(a), max(b), round(avg(c), 6) from t;
select b, group_concat(a) from (select substr(b, -2) as b, a from t where a % 97 = 0 order by a) group by b order by b limit 20;
delete from t where a % 3 = 0;
vacuum;
pragma integrity_check;
END
