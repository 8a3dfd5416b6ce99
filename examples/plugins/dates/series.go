package main

import (
	"fmt"
	"time"

	"github.com/wasmagent/wasmagent/pdk"
)

// Limits of a series.
const (
	maxCount   = 1000   // dates listed
	maxEvery   = 10_000 // units from one date to the next
	maxNth     = 23     // of weekdays or business days in a month
	maxPeriods = 20_000 // periods looked at, for rules that seldom or never hold
)

func dateSeries(_ *pdk.Call, in SeriesInput) (SeriesOutput, error) {
	s, err := newSeries(&in)
	if err != nil {
		return SeriesOutput{}, err
	}
	out := SeriesOutput{Dates: []Occurrence{}}
	for period := range int64(maxPeriods) {
		days, last := s.days(period)
		for _, d := range days {
			if d < s.first {
				continue
			}
			t := s.at(d)
			if !s.until.IsZero() && t.After(s.until) {
				return out, nil
			}
			out.Dates = append(out.Dates, Occurrence{
				Date:     t.Format(time.DateOnly),
				Weekday:  t.Weekday().String(),
				DateTime: t.Format(time.RFC3339Nano),
			})
			if int64(len(out.Dates)) == in.Count {
				return out, nil
			}
		}
		if last || !s.until.IsZero() && len(days) > 0 && s.at(days[0]).After(s.until) {
			break
		}
	}
	return out, nil
}

// series is a checked rule.
type series struct {
	in       *SeriesInput
	wall     time.Time // the clock at the start
	zone     *time.Location
	offset   int // of the start
	first    day
	until    time.Time // zero for none
	weekdays weekdaySet
	work     *workdays
}

func newSeries(in *SeriesInput) (*series, error) {
	start, _, err := read("/start", in.Start, in.Zone)
	if err != nil {
		return nil, err
	}
	s := &series{in: in, wall: wallOf(start), zone: start.Location(), offset: offsetOf(start),
		first: dayOf(start)}
	if in.Until != "" {
		if s.until, err = untilOf(in.Until, s.zone); err != nil {
			return nil, err
		}
	}
	if s.weekdays, err = weekdaysOf("/weekdays", in.Weekdays); err != nil {
		return nil, err
	}
	if s.work, err = in.workdays(); err != nil {
		return nil, err
	}
	return s, in.check()
}

// untilOf gives the last possible moment; a day without a clock time counts to its end.
func untilOf(text string, z *time.Location) (time.Time, error) {
	t, _, err := date("/until", text, z)
	if err != nil {
		return t, err
	}
	if _, isDay, _ := parseDay(text); isDay || text == "today" {
		return startOfDay(dayOf(t)+1, z).Add(-1), nil
	}
	return t, nil
}

func (in *SeriesInput) check() error {
	switch {
	case in.Every < 1 || in.Every > maxEvery:
		return pdk.InvalidInput("/every", fmt.Sprintf("from 1 to %d", maxEvery))
	case in.Count < 1 || in.Count > maxCount:
		return pdk.InvalidInput("/count", fmt.Sprintf("from 1 to %d", maxCount))
	case in.Nth < -maxNth || in.Nth > maxNth:
		return pdk.InvalidInput("/nth", fmt.Sprintf("from -%d to %d", maxNth, maxNth))
	case in.Nth != 0 && in.Unit != "month":
		return pdk.InvalidInput("/nth", "needs unit month")
	}
	switch in.Unit {
	case "day", "week":
	case "month":
		if len(in.Weekdays) > 0 && in.Nth == 0 {
			return pdk.InvalidInput("/weekdays", "with unit month, nth must say which of them")
		}
	case "year", "business_day":
		if len(in.Weekdays) > 0 {
			return pdk.InvalidInput("/weekdays", "needs unit day, week or month")
		}
	default:
		return pdk.InvalidInput("/unit", "day, week, month, year or business_day")
	}
	return nil
}

// at gives the moment of a date: at the clock time of the start.
func (s *series) at(d day) time.Time {
	wall := s.wall.AddDate(0, 0, int(d-s.first))
	t, _ := resolveNear(wall, s.zone, s.offset)
	return t
}

// days gives the dates of a period in order; last tells that years with five digits begin.
func (s *series) days(period int64) (days []day, last bool) {
	n := period * s.in.Every
	switch s.in.Unit {
	case "business_day":
		if period == 0 {
			// The first is the start itself or the next business day.
			return []day{s.work.add(s.first-1, 1)}, false
		}
		days = []day{s.work.add(s.work.add(s.first-1, 1), n)}
	case "day":
		if d := s.first + day(n); len(s.in.Weekdays) == 0 || s.weekdays[d.isoWeekday()] {
			days = []day{d}
		} else if d.time().Year() > maxYear {
			return nil, true
		}
	case "week":
		days = s.week(n)
	case "month":
		days = s.month(n)
	case "year":
		days = []day{dayOf(addMonths(s.wall, n*12))}
	}
	for i, d := range days {
		if d.time().Year() > maxYear {
			return days[:i], true
		}
	}
	return days, false
}

// week gives the chosen weekdays of the week n weeks after the start's; weeks begin on Monday.
func (s *series) week(n int64) (days []day) {
	if len(s.in.Weekdays) == 0 {
		return []day{s.first + day(7*n)}
	}
	monday := s.first - day(s.first.isoWeekday()-1) + day(7*n)
	for i := range 7 {
		if s.weekdays[i+1] {
			days = append(days, monday+day(i))
		}
	}
	return days
}

// month gives the date in the month n months after the start's, if there is one.
func (s *series) month(n int64) []day {
	if s.in.Nth == 0 {
		return []day{dayOf(addMonths(s.wall, n))}
	}
	begin := addMonths(s.wall, n)
	first := dayOf(begin) - day(begin.Day()-1)
	var fit []day
	for i := range daysIn(begin.Year(), begin.Month()) {
		d := first + day(i)
		if len(s.in.Weekdays) > 0 && s.weekdays[d.isoWeekday()] ||
			len(s.in.Weekdays) == 0 && s.work.isBusiness(d) {
			fit = append(fit, d)
		}
	}
	at := int(s.in.Nth) - 1
	if s.in.Nth < 0 {
		at = len(fit) + int(s.in.Nth)
	}
	if at < 0 || at >= len(fit) {
		return nil
	}
	return fit[at : at+1]
}
