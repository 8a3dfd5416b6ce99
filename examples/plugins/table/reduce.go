package main

import (
	"math"
	"slices"
)

// reduce computes min or max of values of one kind, or sum, mean, median or stddev of numbers.
// There is at least one value.
func reduce(op string, values []any) any {
	switch op {
	case "min":
		return slices.MinFunc(values, compare)
	case "max":
		return slices.MaxFunc(values, compare)
	case "sum":
		return sum(values)
	case "mean":
		return toFloat(sum(values)) / float64(len(values))
	case "median":
		return median(values)
	}
	return stddev(values)
}

// sum is exact while all values are integers that fit; floats are added with a compensation for
// what each addition loses.
func sum(values []any) any {
	var whole int64
	for i, v := range values {
		n, ok := v.(int64)
		if !ok || n > 0 && whole > math.MaxInt64-n || n < 0 && whole < math.MinInt64-n {
			return sumFloats(values[i:], float64(whole))
		}
		whole += n
	}
	return whole
}

func sumFloats(values []any, total float64) float64 {
	lost := 0.0
	for _, v := range values {
		x := toFloat(v)
		next := total + x
		if math.Abs(total) >= math.Abs(x) {
			lost += total - next + x
		} else {
			lost += x - next + total
		}
		total = next
	}
	return total + lost
}

// median of an even number of values is the mean of the two in the middle.
func median(values []any) any {
	sorted := slices.SortedFunc(slices.Values(values), compare)
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return toFloat(sorted[middle-1])/2 + toFloat(sorted[middle])/2
}

// stddev is the sample's standard deviation; one value has none.
func stddev(values []any) any {
	if len(values) < 2 {
		return nil
	}
	mean := toFloat(sum(values)) / float64(len(values))
	squares := make([]any, len(values))
	for i, v := range values {
		d := toFloat(v) - mean
		squares[i] = d * d
	}
	return math.Sqrt(sumFloats(squares, 0) / float64(len(values)-1))
}
