package parquet

import "github.com/promcost/promcost/allocation"

// older says how to derive a column from a file that does not have it. A column that is not in the table is 0 in such files, so a new
// column needs no row.
var older = olderColumns()

func olderColumns() map[allocation.Column]func(*File) ([]float64, error) {
	// Before version 2 of the rules, files had the bounds of running time as factors.
	table := map[allocation.Column]func(*File) ([]float64, error){
		allocation.LeastSeconds: func(f *File) ([]float64, error) { return f.unscaled("upper_seconds", true, 0) },
		allocation.MostSeconds:  func(f *File) ([]float64, error) { return f.unscaled("lower_seconds", false, 1) },
	}
	// And they did not say whether usage is known: it is if there is some. For GPUs, only rows with a request count.
	for r := range allocation.NumResources {
		running, request := allocation.RunningSeconds, allocation.RequestHours.Of(r)
		where := running
		if r == allocation.GPU {
			where = request
		}
		table[allocation.UnknownSeconds.Of(r)] = func(f *File) ([]float64, error) { return f.unused(r, running, where) }
		table[allocation.UnknownRequestHours.Of(r)] = func(f *File) ([]float64, error) { return f.unused(r, request, request) }
	}
	return table
}

// values reads a column of rows, or derives it by the table if the file does not have it. nil is all zeros.
func (f *File) values(c allocation.Column) ([]float64, error) {
	if _, ok := f.layout.byPath[c.Field()]; ok {
		return f.numbers(c.Field(), false)
	}
	if read := older[c]; read != nil {
		return read(f)
	}
	return nil, nil
}

// unused is column c for rows that used nothing of a resource and have a value other than 0 in column where. It is 0 for other rows.
func (f *File) unused(r allocation.Resource, c, where allocation.Column) ([]float64, error) {
	var columns [3][]float64
	for i, x := range [...]allocation.Column{allocation.UsageHours.Of(r), c, where} {
		values, err := f.numbers(x.Field(), false)
		if err != nil {
			return nil, err
		}
		if columns[i] = values; values == nil && i > 0 {
			return nil, nil
		}
	}
	out := make([]float64, f.Rows)
	for row, v := range columns[1] {
		if (columns[0] == nil || columns[0][row] == 0) && columns[2][row] != 0 {
			out[row] = v
		}
	}
	return out, nil
}

// unscaled is the least or the most true running time by a column of early files: the counted running time, times a bound of the
// ratio of counted to true time. For rows that are sums it uses the mean of their bounds. If the bound is not known or not above 0, the
// result is a part of the counted time.
func (f *File) unscaled(name string, maybe bool, ratio float64) ([]float64, error) {
	counted, err := f.numbers(allocation.RunningSeconds.Field(), false)
	if err != nil || counted == nil {
		return nil, err
	}
	scaled, err := f.numbers(name, maybe)
	if err != nil {
		return nil, err
	}
	out := make([]float64, f.Rows)
	for row, v := range counted {
		if scaled != nil && scaled[row] > 0 {
			out[row] = v * v / scaled[row]
		} else {
			out[row] = v * ratio
		}
	}
	return out, nil
}
