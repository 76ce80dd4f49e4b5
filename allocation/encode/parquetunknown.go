package encode

import "github.com/promcost/promcost/allocation"

// stoodIn is a column that files have not had from the beginning, for one without it; nil is all zeros. Of what was used, files
// once did not say whether it was known: it is taken for known where there is some.
func (f *ParquetFile) stoodIn(c allocation.Column) ([]float64, error) {
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
func (f *ParquetFile) unused(r allocation.Resource, c, where allocation.Column) ([]float64, error) {
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
