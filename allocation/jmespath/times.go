package jmespath

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// timeFunctions are of times, as RFC 3339 writes them, and durations.
func timeFunctions() []function {
	order := func(f func(a, b time.Time) any) func(*call) (any, error) {
		return func(c *call) (any, error) {
			t, err := c.times()
			if err != nil {
				return nil, err
			}
			return f(t[0], t[1]), nil
		}
	}
	return []function{
		{"time_add", "string, string", "string", "the time and the duration after it", timeAdd, false},
		{"time_after", "string, string", "boolean", "whether the first time is after the second", order(func(a, b time.Time) any { return a.After(b) }), false},
		{"time_before", "string, string", "boolean", "whether the first time is before the second", order(func(a, b time.Time) any { return a.Before(b) }), false},
		{"time_between", "string, string, string", "boolean", "whether the first time is after the second and before the third", timeBetween, false},
		{"time_diff", "string, string", "string", "how long the second time is after the first", timeDiff, false},
		{"time_now", "", "string", "the current time", func(c *call) (any, error) { return c.options.Now().Format(time.RFC3339), nil }, true},
		{"time_now_utc", "", "string", "the current time in UTC", func(c *call) (any, error) { return c.options.Now().UTC().Format(time.RFC3339), nil }, true},
		{"time_parse", "string, string", "string", "the time that is written in a layout of Go; in Unix seconds where the layout is a number", timeParse, false},
		{"time_since", "string, string, string", "string", "how long the third time, now if it is empty, is after the second, both in a layout of Go, RFC 3339 if it is empty", timeSince, true},
		{"time_to_cron", "string", "string", "the time as minute, hour, day, month and weekday of cron", timeToCron, false},
		{"time_truncate", "string, string", "string", "the time rounded down to a multiple of the duration", timeTruncate, false},
		{"time_utc", "string", "string", "the time in UTC", func(c *call) (any, error) {
			t, err := c.time(0)
			return t.UTC().Format(time.RFC3339), err
		}, false},
	}
}

// time is argument i as a time.
func (c *call) time(i int) (time.Time, error) { return c.timeIn(time.RFC3339, i) }

// timeIn is argument i as a time written in a layout.
func (c *call) timeIn(layout string, i int) (time.Time, error) {
	t, err := time.Parse(layout, c.text(i))
	if err != nil {
		return t, c.fail(i, "want a time such as %s", layout)
	}
	return t, nil
}

// times are all arguments as times.
func (c *call) times() ([]time.Time, error) {
	list := make([]time.Time, len(c.args))
	for i := range list {
		var err error
		if list[i], err = c.time(i); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// timeAndDuration are the two arguments.
func (c *call) timeAndDuration() (time.Time, time.Duration, error) {
	t, err := c.time(0)
	if err != nil {
		return t, 0, err
	}
	d, err := time.ParseDuration(c.text(1))
	if err != nil {
		return t, 0, c.fail(1, "want a duration such as 1h30m, at most 292 years")
	}
	return t, d, nil
}

func timeAdd(c *call) (any, error) {
	t, d, err := c.timeAndDuration()
	if err != nil {
		return nil, err
	}
	return t.Add(d).Format(time.RFC3339), nil
}

func timeTruncate(c *call) (any, error) {
	t, d, err := c.timeAndDuration()
	if err != nil {
		return nil, err
	}
	return t.Truncate(d).Format(time.RFC3339), nil
}

func timeBetween(c *call) (any, error) {
	t, err := c.times()
	if err != nil {
		return nil, err
	}
	return t[0].After(t[1]) && t[0].Before(t[2]), nil
}

func timeParse(c *call) (any, error) {
	layout := c.text(0)
	if _, err := strconv.ParseInt(layout, 10, 64); err == nil {
		seconds, err := strconv.ParseInt(c.text(1), 10, 64)
		if err != nil {
			return nil, c.fail(1, "want Unix seconds such as 1767225600")
		}
		return time.Unix(seconds, 0).UTC().Format(time.RFC3339), nil
	}
	t, err := c.timeIn(layout, 1)
	if err != nil {
		return nil, err
	}
	return t.Format(time.RFC3339), nil
}

func timeSince(c *call) (any, error) {
	layout := c.text(0)
	if layout == "" {
		layout = time.RFC3339
	}
	start, err := c.timeIn(layout, 1)
	if err != nil {
		return nil, err
	}
	end := c.options.Now()
	if c.text(2) != "" {
		if end, err = c.timeIn(layout, 2); err != nil {
			return nil, err
		}
	}
	return c.between(start, end)
}

func timeDiff(c *call) (any, error) {
	t, err := c.times()
	if err != nil {
		return nil, err
	}
	return c.between(t[0], t[1])
}

// between is the duration from start to end. The standard library ends them at 292 years.
func (c *call) between(start, end time.Time) (any, error) {
	d := end.Sub(start)
	if d == math.MaxInt64 || d == math.MinInt64 {
		return nil, fmt.Errorf("function %s: result is a duration beyond 292 years: give times that are nearer to each other", c.name)
	}
	return d.String(), nil
}

func timeToCron(c *call) (any, error) {
	t, err := c.time(0)
	if err != nil {
		return nil, err
	}
	return fmt.Sprintf("%d %d %d %d %d", t.Minute(), t.Hour(), t.Day(), t.Month(), t.Weekday()), nil
}
