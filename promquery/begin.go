package promquery

import "time"

// FirstHour returns when data begin within [from, to), rounded down to whole hours after from; to if there are none at all. has reports whether there are
// samples in [from, to); it is asked a few times at most.
func FirstHour(from, to time.Time, has func(from, to time.Time) (bool, error)) (time.Time, error) {
	// Nothing is there before empty, something before full. Most servers have had data for long: the first hour is asked for first.
	empty, full := from, to
	for next := from.Add(time.Hour); empty.Before(full); next = empty.Add((full.Sub(empty) / 2).Truncate(time.Hour)) {
		if !next.After(empty) {
			next = empty.Add(time.Hour)
		}
		if next.After(to) {
			next = to
		}
		some, err := has(empty, next)
		switch {
		case err != nil:
			return time.Time{}, err
		case !some:
			empty = next
		case next.Sub(empty) <= time.Hour:
			return empty, nil
		default:
			full = next
		}
	}
	return empty, nil
}
