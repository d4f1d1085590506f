"""Sums of the profiles in an OTLP file, by kind, read with the published messages: python3 otlp_sums.py FILE"""
import json
import sys

import opentelemetry.proto.profiles.v1development.profiles_pb2 as profiles

data = profiles.ProfilesData.FromString(open(sys.argv[1], "rb").read())
tables = data.dictionary
texts = tables.string_table
assert texts[0] == ""
for table in (tables.mapping_table, tables.location_table, tables.function_table, tables.link_table,
              tables.attribute_table, tables.stack_table):
    assert table[0].ByteSize() == 0, table[0]
sums, functions = {}, set()
for resource in data.resource_profiles:
    for profile in resource.scope_profiles[0].profiles:
        assert len(profile.profile_id) == 16
        kind = texts[profile.sample_type.type_strindex]
        for sample in profile.samples:
            assert sample.stack_index > 0
            for location in tables.stack_table[sample.stack_index].location_indices:
                for line in tables.location_table[location].lines:
                    functions.add(texts[tables.function_table[line.function_index].name_strindex])
            sums[kind] = sums.get(kind, 0) + sum(sample.values)
print(json.dumps({**sums, "functions": sorted(functions)}))
