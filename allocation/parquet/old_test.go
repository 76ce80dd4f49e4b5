package parquet_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestParquetOldFiles reads files that earlier versions of promcost wrote: v1 is of an early one, and v1own of the last one whose pages
// promcost encoded itself. They are never written again. The expected values stand beside them as text: a column or a field that is added
// later does not change these.
func TestParquetOldFiles(t *testing.T) {
	for _, version := range [...]string{"v1", "v1own"} {
		t.Run(version, func(t *testing.T) {
			var data [2][]byte
			for i, kind := range [...]string{"allocations", "assets"} {
				var err error
				if data[i], err = os.ReadFile(filepath.Join("testdata", kind+"."+version+".parquet")); err != nil {
					t.Fatal(err)
				}
			}
			got, err := readBack(nil, data[:]...)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(filepath.Join("testdata", version+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), strings.Join(nonZero("", reflect.ValueOf(resolvedSetOf(got))), "\n")+"\n"); diff != "" {
				t.Errorf("%s.txt (-want +got):\n%s", version, diff)
			}
		})
	}
}

// nonZero are the values within v that are not zero, a line each, by their paths.
func nonZero(path string, v reflect.Value) (lines []string) {
	if at, ok := reflect.TypeAssert[time.Time](v); ok {
		if at.IsZero() {
			return nil
		}
		return []string{path + " " + at.UTC().Format(time.RFC3339Nano)}
	}
	switch kind := v.Kind(); {
	case kind == reflect.Struct:
		for i := range v.NumField() {
			lines = append(lines, nonZero(path+"."+v.Type().Field(i).Name, v.Field(i))...)
		}
		return lines
	case kind == reflect.Slice, kind == reflect.Array:
		for i := range v.Len() {
			lines = append(lines, nonZero(path+"["+strconv.Itoa(i)+"]", v.Index(i))...)
		}
		return lines
	case kind == reflect.Map:
		members := map[string]reflect.Value{}
		for _, key := range v.MapKeys() {
			members[key.String()] = v.MapIndex(key)
		}
		for _, key := range slices.Sorted(maps.Keys(members)) {
			lines = append(lines, nonZero(path+"."+key, members[key])...)
		}
		return lines
	case kind == reflect.Interface:
		return nonZero(path, v.Elem())
	case v.IsZero():
		return nil
	case kind == reflect.String:
		return []string{fmt.Sprintf("%s %q", path, v)}
	}
	return []string{fmt.Sprintf("%s %v", path, v)}
}
