package main

import (
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"
)

func TestZones(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		text string
		want string // the time in the zone; "" is an error
	}{
		{"UTC", "12:00"},
		{"Europe/Berlin", "14:00"},
		{"Asia/Kolkata", "17:30"},
		{"+05:30", "17:30"},
		{"-08:00", "04:00"},
		{"+00:00", "12:00"},
		{"Local", ""},
		{"Mars/Olympus", ""},
		{"+5", ""},
		{"", ""},
	} {
		t.Run(tt.text, func(t *testing.T) {
			var zone *time.Location
			app := kingpin.New("test", "").Terminate(nil)
			zoneOf(app, "timezone", "", &zone)
			_, err := app.Parse([]string{"--timezone=" + tt.text})
			switch {
			case tt.want == "" && err == nil:
				t.Errorf("accepted as %s", zone)
			case tt.want != "" && err != nil:
				t.Error(err)
			case tt.want != "" && at.In(zone).Format("15:04") != tt.want:
				t.Errorf("12:00 UTC is %s, want %s", at.In(zone).Format("15:04"), tt.want)
			}
		})
	}
}

func TestSizes(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64 // -1 is an error
	}{
		{"0", 0},
		{"1000", 1000},
		{"7B", 7},
		{"3KB", 3 << 10},
		{"512MB", 512 << 20},
		{"512MiB", 512 << 20},
		{"2GB", 2 << 30},
		{"1TiB", 1 << 40},
		{"", -1},
		{"MB", -1},
		{"1.5GB", -1},
		{"-1", -1},
		{"9000000TB", -1},
		{"9000000000000000000", 9000000000000000000},
		{"1PB", -1},
	} {
		t.Run(tt.text, func(t *testing.T) {
			var got int64
			app := kingpin.New("test", "").Terminate(nil)
			sizeOf(app, "size", "", &got)
			_, err := app.Parse([]string{"--size=" + tt.text})
			if (err != nil) != (tt.want < 0) || err == nil && got != tt.want {
				t.Errorf("got %d, %v, want %d", got, err, tt.want)
			}
		})
	}
}
