package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/pdk"
)

// day is a date without a clock: days since 1970-01-01.
type day int64

const secondsPerDay = 24 * 60 * 60

// dayOf gives the date that t's clock shows.
func dayOf(t time.Time) day {
	midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	return day(midnight.Unix() / secondsPerDay) // exact: a midnight in UTC
}

func (d day) time() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

// isoWeekday is 1 for Monday to 7 for Sunday. 1970-01-01 was a Thursday.
func (d day) isoWeekday() int { return int(((d+3)%7+7)%7) + 1 }

func daysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// addMonths moves wall by n months; a day that the month lacks becomes its last.
func addMonths(wall time.Time, n int64) time.Time {
	months := int64(wall.Year())*12 + int64(wall.Month()) - 1 + n
	year, month := int(months/12), time.Month(months%12+1)
	if months < 0 { // out of range in any case
		year, month = -1, 1
	}
	return time.Date(year, month, min(wall.Day(), daysIn(year, month)), wall.Hour(), wall.Minute(),
		wall.Second(), wall.Nanosecond(), time.UTC)
}

// maxHolidays is how many days off an argument may list.
const maxHolidays = 1000

var weekdays = []string{
	"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
}

// weekdaySet holds ISO weekdays, 1 to 7.
type weekdaySet [8]bool

func weekdaysOf(pointer string, names []string) (set weekdaySet, err error) {
	for i, name := range names {
		found := false
		for n, weekday := range weekdays {
			if strings.EqualFold(name, weekday) {
				set[n+1], found = true, true
			}
		}
		if !found {
			return set, pdk.InvalidInput(fmt.Sprintf("%s/%d", pointer, i),
				"not a weekday such as monday")
		}
	}
	return set, nil
}

// workdays knows the business days.
type workdays struct {
	off      weekdaySet
	holidays map[day]bool
}

func (c *Calendar) workdays() (*workdays, error) {
	w := &workdays{holidays: make(map[day]bool)}
	weekend := c.Weekend
	if len(weekend) == 0 {
		weekend = []string{"saturday", "sunday"}
	}
	var err error
	if w.off, err = weekdaysOf("/weekend", weekend); err != nil {
		return nil, err
	}
	if w.off == (weekdaySet{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true}) {
		return nil, pdk.InvalidInput("/weekend", "no day of the week is left for business")
	}
	if len(c.Holidays) > maxHolidays {
		return nil, pdk.InvalidInput("/holidays",
			fmt.Sprintf("%d dates, at most %d", len(c.Holidays), maxHolidays))
	}
	for i, text := range c.Holidays {
		t, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return nil, pdk.InvalidInput(fmt.Sprintf("/holidays/%d", i),
				"not a date such as 2026-12-25")
		}
		w.holidays[dayOf(t)] = true
	}
	return w, nil
}

func (w *workdays) isBusiness(d day) bool { return !w.off[d.isoWeekday()] && !w.holidays[d] }

// add gives the nth business day after d, before it when n is negative, and d itself when n is 0.
func (w *workdays) add(d day, n int64) day {
	step := day(1)
	if n < 0 {
		step, n = -1, -n
	}
	for n > 0 {
		d += step
		if w.isBusiness(d) {
			n--
		}
	}
	return d
}

// between counts the business days after from, up to and with to; negative when to is earlier.
func (w *workdays) between(from, to day) (n int64) {
	if to < from {
		return -w.between(to, from)
	}
	for d := from + 1; d <= to; d++ {
		if w.isBusiness(d) {
			n++
		}
	}
	return n
}
