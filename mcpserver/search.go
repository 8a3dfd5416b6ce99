package mcpserver

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/wasmagent/wasmagent/abi"
)

// The constants of BM25: how soon a word that is there often counts no more, and how much a long
// description weighs against its tool.
const (
	saturation = 1.2
	lengthCost = 0.75

	nameWeight   = 4   // a word of the name counts as often as this
	prefixWeight = 0.5 // a word that only begins with what is looked for
	minPrefix    = 3   // bytes
)

// index ranks tools by BM25 over the words of their names and descriptions.
type index struct {
	specs   []abi.ToolSpec
	words   map[string]map[int]float64 // how often each word is in which tool
	sorted  []string                   // all words
	lengths []float64                  // words of each tool
	average float64
}

func newIndex(specs []abi.ToolSpec) *index {
	x := &index{specs: specs, words: map[string]map[int]float64{}}
	x.lengths = make([]float64, len(specs))
	for i, spec := range specs {
		x.add(i, spec.Name, nameWeight)
		x.add(i, spec.Description, 1)
		x.average += x.lengths[i] / float64(len(specs))
	}
	for word := range x.words {
		x.sorted = append(x.sorted, word)
	}
	slices.Sort(x.sorted)
	return x
}

func (x *index) add(tool int, text string, weight float64) {
	for _, word := range wordsOf(text) {
		if x.words[word] == nil {
			x.words[word] = map[int]float64{}
		}
		x.words[word][tool] += weight
		x.lengths[tool] += weight
	}
}

// search gives the tools that fit the query, the best first. A tool of that very name comes before
// all.
func (x *index) search(query string) []abi.ToolSpec {
	scores := map[int]float64{}
	for _, word := range wordsOf(query) {
		x.score(scores, word, 1)
		if len(word) < minPrefix {
			continue
		}
		from, _ := slices.BinarySearch(x.sorted, word)
		for _, longer := range x.sorted[from:] {
			if !strings.HasPrefix(longer, word) {
				break
			}
			if longer != word {
				x.score(scores, longer, prefixWeight)
			}
		}
	}
	for i, spec := range x.specs {
		if spec.Name == strings.TrimSpace(query) {
			scores[i] = math.Inf(1)
		}
	}
	hits := make([]int, 0, len(scores))
	for tool := range scores {
		hits = append(hits, tool)
	}
	slices.SortFunc(hits, func(a, b int) int { // the tools are sorted by name
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	found := make([]abi.ToolSpec, len(hits))
	for i, tool := range hits {
		found[i] = x.specs[tool]
	}
	return found
}

func (x *index) score(scores map[int]float64, word string, weight float64) {
	tools := x.words[word]
	n := float64(len(tools))
	rarity := math.Log(1 + (float64(len(x.specs))-n+0.5)/(n+0.5))
	for tool, count := range tools {
		length := 1 - lengthCost + lengthCost*x.lengths[tool]/x.average
		scores[tool] += weight * rarity * count * (saturation + 1) / (count + saturation*length)
	}
}

// wordsOf splits a text into its words, in lower case and without the s of a plural.
func wordsOf(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for i, word := range words {
		if len(word) > minPrefix && !strings.HasSuffix(word, "ss") {
			words[i] = strings.TrimSuffix(word, "s")
		}
	}
	return words
}
