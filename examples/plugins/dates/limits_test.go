package main

import (
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/pdk"
)

// call runs a tool only for its error.
func call[In, Out any](tool func(*pdk.Call, In) (Out, error), in In) error {
	_, err := tool(nil, in)
	return err
}

func TestLimits(t *testing.T) {
	pad := func(s string, size int) string { return s + strings.Repeat(" ", size-len(s)) }
	info := func(date, zone string, holidays int) error {
		days := make([]string, holidays)
		for i := range days {
			days[i] = "2026-01-01"
		}
		return call(dateInfo, InfoInput{Date: date, Zone: zone, Calendar: Calendar{Holidays: days}})
	}
	convert := func(zones int) error {
		to := make([]string, zones)
		for i := range to {
			to[i] = "UTC"
		}
		return call(dateConvert, ConvertInput{Date: "2026-01-01", To: to})
	}
	add := func(in AddInput) error {
		in.Date = "5000-01-01"
		return call(dateAdd, in)
	}
	series := func(in SeriesInput) error {
		in.Start = "2026-01-01"
		return call(dateSeries, in)
	}
	for _, test := range []struct {
		name     string
		at, past error
	}{
		{"bytes of a date", info(pad("2026-01-01", maxDateBytes), "", 0),
			info(pad("2026-01-01", maxDateBytes+1), "", 0)},
		{"holidays", info("2026-01-01", "", maxHolidays), info("2026-01-01", "", maxHolidays+1)},
		{"first year", info("0001-01-01", "", 0), info("0000-12-31", "", 0)},
		{"last year", info("9999-12-31", "", 0), info("@253402300800", "", 0)},
		{"zones", convert(maxZones), convert(maxZones + 1)},
		{"fewest zones", convert(1), convert(0)},
		{"seconds", add(AddInput{Seconds: maxAmount}), add(AddInput{Seconds: maxAmount + 1})},
		{"seconds back", add(AddInput{Seconds: -maxAmount}), add(AddInput{Seconds: -maxAmount - 1})},
		{"business days", add(AddInput{BusinessDays: maxBusinessDays}),
			add(AddInput{BusinessDays: maxBusinessDays + 1})},
		{"years to the end", add(AddInput{Years: 4999}), add(AddInput{Years: 5000})},
		{"years to the start", add(AddInput{Years: -4999}), add(AddInput{Years: -5000})},
		{"count", series(SeriesInput{Unit: "day", Every: 1, Count: maxCount}),
			series(SeriesInput{Unit: "day", Every: 1, Count: maxCount + 1})},
		{"every", series(SeriesInput{Unit: "day", Every: maxEvery, Count: 1}),
			series(SeriesInput{Unit: "day", Every: maxEvery + 1, Count: 1})},
		{"nth", series(SeriesInput{Unit: "month", Every: 1, Count: 1, Nth: maxNth}),
			series(SeriesInput{Unit: "month", Every: 1, Count: 1, Nth: maxNth + 1})},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.at != nil {
				t.Errorf("at the limit: %v", test.at)
			}
			if test.past == nil {
				t.Error("past the limit: no error")
			}
		})
	}
	for size, want := range map[int]string{maxZoneBytes: "no time zone", maxZoneBytes + 1: "at most"} {
		_, err := zone("/zone", strings.Repeat("a", size))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a name of %d bytes: %v", size, err)
		}
	}
}

// TestFarAmounts shows that no amount overflows into a date that looks right.
func TestFarAmounts(t *testing.T) {
	for _, n := range []int64{maxAmount, -maxAmount} {
		for _, in := range []AddInput{
			{Years: n}, {Months: n}, {Weeks: n}, {Days: n}, {Hours: n}, {Years: n, Months: n},
			{Years: n, Days: -n}, {Weeks: n, Days: n, Hours: n},
		} {
			in.Date = "2026-01-01"
			if out, err := dateAdd(nil, in); err == nil {
				t.Errorf("%+v gave %s", in, out.DateTime)
			}
		}
	}
}

// TestSeldomRule shows that a rule without a date ends.
func TestSeldomRule(t *testing.T) {
	var all []string
	for d := day(0); d < 366; d++ {
		all = append(all, d.time().AddDate(56, 0, 0).Format(time.DateOnly))
	}
	out, err := dateSeries(nil, SeriesInput{Start: "2026-01-01", Unit: "month", Every: 1, Count: 5,
		Nth: 23, Calendar: Calendar{Weekend: []string{"friday", "saturday", "sunday"}, Holidays: all}})
	if err != nil || len(out.Dates) != 0 {
		t.Errorf("%d dates, %v", len(out.Dates), err)
	}
}

// TestAddAndDiffAgree holds business days and calendar parts against each other.
func TestAddAndDiffAgree(t *testing.T) {
	for from := range 40 {
		for to := range 100 {
			a := day(20000 + from).time().Format(time.DateOnly)
			b := day(20000 + to).time().Format(time.DateOnly)
			diff, err := dateDiff(nil, DiffInput{From: a, To: b})
			if err != nil {
				t.Fatal(err)
			}
			if to >= from {
				back, err := dateAdd(nil, AddInput{Date: a, Years: diff.Years, Months: diff.Months,
					Days: diff.RestDays})
				if err != nil || back.Date != b {
					t.Fatalf("%s + %s is %s, not %s (%v)", a, diff.ISO, back.Date, b, err)
				}
			}
			mirror, _ := dateDiff(nil, DiffInput{From: b, To: a})
			if mirror.Days != -diff.Days || mirror.BusinessDays != -diff.BusinessDays {
				t.Fatalf("%s to %s is %+v, back %+v", a, b, diff, mirror)
			}
		}
		for n := range int64(12) {
			a := day(20000 + from).time().Format(time.DateOnly)
			b, err := dateAdd(nil, AddInput{Date: a, BusinessDays: n})
			if err != nil {
				t.Fatal(err)
			}
			if diff, _ := dateDiff(nil, DiffInput{From: a, To: b.Date}); diff.BusinessDays != n {
				t.Fatalf("%s + %d business days is %s, which is %d away", a, n, b.Date, diff.BusinessDays)
			}
		}
	}
}
