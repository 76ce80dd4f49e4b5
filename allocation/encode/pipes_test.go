package encode_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/passes"
)

// TestSideBySide checks that sets written together have the same bytes as each set by itself, whichever rows share a goroutine.
func TestSideBySide(t *testing.T) {
	dict := allocation.NewDict()
	var built []*allocation.Set
	for i, rows := range []int{3, 0, 239, 240, 241, 1, 0, 700, 80, 5} {
		from := start.Add(time.Duration(i) * time.Hour)
		s := allocation.NewSet(allocation.Window{Start: from, End: from.Add(time.Hour)}, dict)
		for row := range rows {
			r := allocation.Row{Start: from.Add(time.Duration(row%3) * time.Minute), End: from.Add(time.Hour)}
			r.Text[allocation.Pod] = fmt.Sprintf("pod-%d", row*row%rows)
			r.Values[allocation.RunningSeconds], r.Values[allocation.SharedCost] = 60, float64(row/20)/7
			s.Append(&r)
		}
		built = append(built, s)
	}
	sets, err := passes.Apply(built, passes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(w io.Writer, sets []*allocation.Set) error{
		"all": func(w io.Writer, sets []*allocation.Set) error { return encode.Allocations(w, sets, encode.Options{}) },
		"page": func(w io.Writer, sets []*allocation.Set) error {
			return encode.Allocations(w, sets, encode.Options{Page: encode.Page{Limit: 40}})
		},
		"members": func(w io.Writer, sets []*allocation.Set) error {
			return encode.Allocations(w, sets, encode.Options{Fields: []string{"sharedCost", "start"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := func(sets ...*allocation.Set) (list []json.RawMessage) {
				var b bytes.Buffer
				if err := write(&b, sets); err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(b.Bytes(), &struct{ Data *[]json.RawMessage }{&list}); err != nil {
					t.Fatal(err)
				}
				return list
			}
			for i, got := range data(sets...) {
				if want := data(sets[i])[0]; !bytes.Equal(got, want) {
					t.Errorf("set %d of %d rows: got %.300s, want %.300s", i, sets[i].Len(), got, want)
				}
			}
		})
	}
}

// TestPanicOfARow checks that a panic on another goroutine reaches the caller, who can recover.
func TestPanicOfARow(t *testing.T) {
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "out of range") || !strings.Contains(p, "appendAsset") {
			t.Errorf("panic %q does not say what went wrong where", p)
		}
	}()
	set := &assets.Set{Assets: make([]allocation.Asset, 1000)}
	set.Assets[500].Type = 200
	_ = encode.Assets(io.Discard, []*assets.Set{set}, encode.Options{})
	t.Error("it did not panic")
}
