package parquet

import "github.com/promcost/promcost/allocation"

// stoodIn is a column that files have not had from the beginning, for one without it; nil is all zeros. Of what was used, files
// once did not say whether it was known: it is taken for known where there is some. Bounds they had as factors.
func (f *File) stoodIn(c allocation.Column) ([]float64, error) {
	switch c {
	case allocation.LeastSeconds:
		return f.unscaled("upper_seconds", true, 0)
	case allocation.MostSeconds:
		return f.unscaled("lower_seconds", false, 1)
	default:
	}
	for r := range allocation.NumResources {
		seconds, request := allocation.UnknownSeconds.Of(r), allocation.RequestHours.Of(r)
		switch {
		case c == allocation.UnknownRequestHours.Of(r):
			return f.unused(r, request, request)
		case c == seconds && r == allocation.GPU: // of which only the time counts that requests some
			return f.unused(r, allocation.RunningSeconds, request)
		case c == seconds:
			return f.unused(r, allocation.RunningSeconds, allocation.RunningSeconds)
		}
	}
	return nil, nil
}

// unused is a column of the rows that used nothing of a resource and have something of another column, 0 of the others.
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

// unscaled is the least or the most true running time by the column of early files in its place: running time, times a bound of
// what is counted of the true one. Of rows that were summed that gives the mean of their bounds. Where the bound is not known
// or not above 0, it is a part of what was counted.
func (f *File) unscaled(name string, maybe bool, part float64) ([]float64, error) {
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
			out[row] = v * part
		}
	}
	return out, nil
}
