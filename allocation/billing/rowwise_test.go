package billing_test

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// stored is a way in which a file may store a column: its type, its values by number, and how CSV has them.
type stored struct {
	node  parquet.Node
	value func(n int) parquet.Value
	text  func(v parquet.Value) string
}

// ways are the ways to store texts, times and numbers.
type ways struct{ texts, times, numbers []stored }

var (
	asText = func(v parquet.Value) string { return string(v.ByteArray()) }
	atHour = func(n int) time.Time { return time.Date(2026, 10, 1+n/24, n%24, 0, 0, 0, time.UTC) }
)

func allWays() ways {
	number := func(n int) parquet.Value { return parquet.ByteArrayValue([]byte(strconv.Itoa(n))) }
	instant := func(unit parquet.TimeUnit, size time.Duration) stored {
		return stored{
			parquet.Timestamp(unit),
			func(n int) parquet.Value { return parquet.Int64Value(atHour(n).UnixNano() / int64(size)) },
			func(v parquet.Value) string {
				return time.Unix(0, v.Int64()*int64(size)).UTC().Format(time.RFC3339Nano)
			},
		}
	}
	decimal := func(whole int64) string { return strconv.FormatFloat(float64(whole)/1000, 'f', 3, 64) }
	return ways{
		texts: []stored{
			{parquet.String(), func(n int) parquet.Value {
				return parquet.ByteArrayValue([]byte([...]string{"a", "NULL", "", "ä, \"b\"", "c"}[n%5]))
			}, asText},
			{parquet.String(), number, asText},
			{parquet.String(), func(int) parquet.Value { return parquet.ByteArrayValue([]byte("one")) }, asText},
			{parquet.Int(64), func(n int) parquet.Value { return parquet.Int64Value(int64(n)) }, func(v parquet.Value) string { return strconv.FormatInt(v.Int64(), 10) }},
		},
		times: []stored{
			instant(parquet.Millisecond, time.Millisecond), instant(parquet.Microsecond, time.Microsecond), instant(parquet.Nanosecond, time.Nanosecond),
			{parquet.String(), func(n int) parquet.Value { return parquet.ByteArrayValue([]byte(atHour(n).Format(time.RFC3339))) }, asText},
		},
		numbers: []stored{
			{
				parquet.Leaf(parquet.DoubleType),
				func(n int) parquet.Value { return parquet.DoubleValue(float64(n)/7 - 3) },
				func(v parquet.Value) string { return strconv.FormatFloat(v.Double(), 'g', -1, 64) },
			},
			{parquet.String(), number, asText},
			{
				parquet.Decimal(3, 18, parquet.Int64Type),
				func(n int) parquet.Value { return parquet.Int64Value(int64(n)*1001 - 20_000) },
				func(v parquet.Value) string { return decimal(v.Int64()) },
			},
			{
				parquet.Decimal(3, 9, parquet.Int32Type),
				func(n int) parquet.Value { return parquet.Int32Value(int32(n)*1001 - 20_000) },
				func(v parquet.Value) string { return decimal(int64(v.Int32())) },
			},
			{parquet.Decimal(3, 38, parquet.FixedLenByteArrayType(16)), wideDecimal, wideText},
			{parquet.Decimal(3, 20, parquet.FixedLenByteArrayType(9)), func(n int) parquet.Value {
				return parquet.FixedLenByteArrayValue(wideDecimal(n%40 + 1).ByteArray()[7:])
			}, wideText},
		},
	}
}

// wideDecimal is a decimal in 16 bytes. The one for 49 needs more than 8 of them.
func wideDecimal(n int) parquet.Value {
	var b [16]byte
	v := int64(n)*1001 - 20_000
	binary.BigEndian.PutUint64(b[:], uint64(v>>63))
	binary.BigEndian.PutUint64(b[8:], uint64(v))
	if n == 49 {
		b[7]++
	}
	return parquet.FixedLenByteArrayValue(b[:])
}

func wideText(v parquet.Value) string {
	b := v.ByteArray()
	whole := new(big.Int).SetBytes(b)
	if b[0] >= 0x80 {
		whole.Sub(whole, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return new(big.Rat).SetFrac(whole, big.NewInt(1000)).FloatString(3)
}

// focusColumn is a column of a file, and how it may be stored.
type focusColumn struct {
	name  string
	ways  []stored
	nulls bool // it has some
	from  int  // what is added to its numbers
}

func focusColumns() []focusColumn {
	w := allWays()
	category := stored{parquet.String(), func(n int) parquet.Value { return parquet.ByteArrayValue([]byte([...]string{"Usage", "Tax"}[n%2])) }, asText}
	return []focusColumn{
		{name: "BillingAccountId", ways: w.texts[1:]},
		{name: "BillingCurrency", ways: w.texts[2:3]},
		{name: "BillingPeriodStart", ways: w.times},
		{name: "BilledCost", ways: w.numbers, nulls: true},
		{name: "ChargeCategory", ways: []stored{category}},
		{name: "ChargePeriodEnd", ways: w.times, from: 50},
		{name: "ChargePeriodStart", ways: w.times},
		{name: "ConsumedQuantity", ways: w.numbers, nulls: true},
		{name: "EffectiveCost", ways: w.numbers},
		{name: "ListCost", ways: w.numbers, nulls: true},
		{name: "ProviderName", ways: w.texts, nulls: true},
		{name: "ResourceId", ways: w.texts, nulls: true},
		{name: "ServiceProviderName", ways: w.texts, nulls: true},
		{name: "SubAccountId", ways: w.texts, nulls: true},
		{name: "x_ignored", ways: w.texts, nulls: true},
	}
}

// TestReadsByColumn reads random Parquet files by column, and the same rows one by one from CSV: the lines are the same.
func TestReadsByColumn(t *testing.T) {
	for seed := range soak.Of(20, 2000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 21))
		file, rows := randomFile(t, rng)
		var byColumn, byRow []string
		if err := billing.ReadParquet(file, keepTexts(&byColumn)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := billing.ReadCSV(strings.NewReader(rows), keepTexts(&byRow)); err != nil {
			t.Fatalf("seed %d: row by row: %v", seed, err)
		}
		slices.Sort(byRow)
		slices.Sort(byColumn)
		if diff := cmp.Diff(byRow, byColumn); diff != "" {
			t.Fatalf("seed %d: %d and %d lines: %s", seed, len(byRow), len(byColumn), diff)
		}
	}
}

// keepTexts keeps what lines say. Their order depends on texts that do not count.
func keepTexts(to *[]string) func(*billing.Line) error {
	return func(l *billing.Line) error {
		*to = append(*to, fmt.Sprintf("%d %d %+v %v %.12g %.12g", l.Start.Unix(), l.End.Unix(), *l.Item, l.Known, l.Costs, l.Quantity))
		return nil
	}
}

// randomFile is a file whose columns are stored in random ways, and its rows as CSV.
func randomFile(t *testing.T, rng *rand.Rand) (file []byte, rows string) {
	t.Helper()
	columns, group, ways := map[string]focusColumn{}, parquet.Group{}, map[string]stored{}
	for _, c := range focusColumns() {
		way := c.ways[rng.IntN(len(c.ways))]
		node := way.node
		if rng.IntN(2) == 0 {
			node = parquet.Encoded(node, &parquet.RLEDictionary)
		}
		if c.nulls || rng.IntN(2) == 0 {
			node = parquet.Optional(node)
		}
		columns[c.name], group[c.name], ways[c.name] = c, node, way
	}
	var out, text bytes.Buffer
	to, table := parquet.NewWriter(&out, parquet.NewSchema("bill", group), parquet.PageBufferSize(64+rng.IntN(2000)), parquet.DataPageVersion(1+rng.IntN(2))), csv.NewWriter(&text)
	names, numbers := slices.Sorted(maps.Keys(group)), map[string]int{}
	check(t, table.Write(names))
	for range rng.IntN(600) {
		row, record := make(parquet.Row, len(names)), make([]string, len(names))
		for i, name := range names {
			if rng.IntN(8) == 0 {
				numbers[name] = rng.IntN(50)
			}
			level := 0
			if group[name].Optional() {
				level = 1
			}
			value := ways[name].value(numbers[name] + columns[name].from)
			record[i] = ways[name].text(value)
			if columns[name].nulls && rng.IntN(4) == 0 {
				value, level, record[i] = parquet.NullValue(), 0, ""
			}
			row[i] = value.Level(0, level, i)
		}
		_, err := to.WriteRows([]parquet.Row{row})
		check(t, err)
		check(t, table.Write(record))
		if rng.IntN(200) == 0 {
			check(t, to.Flush())
		}
	}
	check(t, to.Close())
	table.Flush()
	return out.Bytes(), text.String()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// keepLines keeps copies of lines.
func keepLines(to *[]billing.Line) func(*billing.Line) error {
	return func(l *billing.Line) error {
		line, item := *l, *l.Item
		line.Item = &item
		*to = append(*to, line)
		return nil
	}
}
