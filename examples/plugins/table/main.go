// Table answers questions about CSV text and lists of records: filter, group, aggregate, sort,
// with exact errors, so that an agent need not read and add up rows itself.
package main

import "github.com/wasmagent/wasmagent/pdk"

func init() {
	pdk.Plugin("table", "1.0.0")
	pdk.Register(pdk.Tool{
		Name: "table",
		Description: "Query a table given as CSV text or as a list of objects: where, group_by with " +
			"aggregate, having, sort, select, distinct, limit, in this order. Use it to count, " +
			"sum, rank or extract rows, or to turn CSV into records or Markdown. CSV columns " +
			"with only numbers become numbers, empty cells null.",
		Effect: pdk.Read,
	}, run)
}

func main() {}

// Input is the arguments of table.
type Input struct {
	CSV       string           `json:"csv,omitempty" doc:"the table as CSV text; either this or rows"`
	Rows      []map[string]any `json:"rows,omitempty" doc:"the table as objects, one a row; either this or csv"`
	Delimiter string           `json:"delimiter,omitempty" enum:"comma,semicolon,tab,pipe" default:"comma" doc:"what separates cells in csv"`
	NoHeader  bool             `json:"no_header,omitempty" doc:"the first line of csv is data; columns are named c1, c2, …"`
	NullTexts []string         `json:"null_texts,omitempty" doc:"cells of csv that stand for no value, e.g. n/a or -"`
	Where     []Condition      `json:"where,omitempty" doc:"keep the rows for which all conditions hold"`
	GroupBy   []string         `json:"group_by,omitempty" doc:"one row for each combination of values in these columns"`
	Aggregate []Aggregate      `json:"aggregate,omitempty" doc:"columns to compute for each group, or for the whole table without group_by"`
	Having    []Condition      `json:"having,omitempty" doc:"keep the groups for which all conditions hold; may use computed columns"`
	Sort      []SortKey        `json:"sort,omitempty" doc:"order of the rows; null comes last"`
	Select    []string         `json:"select,omitempty" doc:"columns to return, in this order; all when absent"`
	Distinct  bool             `json:"distinct,omitempty" doc:"leave out rows that equal an earlier one"`
	Offset    int              `json:"offset,omitempty" min:"0" doc:"rows to skip"`
	Limit     int              `json:"limit,omitempty" min:"1" max:"10000" default:"1000" doc:"most rows to return"`
	Format    string           `json:"format,omitempty" enum:"rows,csv,markdown" default:"rows" doc:"rows: objects; csv and markdown: one text"`
}

// Condition compares a column with a value.
type Condition struct {
	Column string `json:"column"`
	Op     string `json:"op" enum:"eq,ne,lt,le,gt,ge,in,contains,starts_with,ends_with,matches,empty,not_empty" doc:"matches takes an RE2 pattern, in a list of values"`
	Value  any    `json:"value,omitempty" doc:"number, text, boolean or null; not used by empty and not_empty"`
}

// Aggregate computes one value from the rows of a group. Null cells do not count.
type Aggregate struct {
	Op     string `json:"op" enum:"count,count_distinct,sum,mean,median,min,max,stddev,first,last" doc:"count without a column counts rows; stddev is the sample's"`
	Column string `json:"column,omitempty" doc:"the column to compute from; only count can do without"`
	As     string `json:"as,omitempty" doc:"name of the new column; op_column when absent"`
}

// SortKey is a column to sort by.
type SortKey struct {
	Column string `json:"column"`
	Desc   bool   `json:"desc,omitempty" doc:"largest first"`
}

// Output is the result of table.
type Output struct {
	Columns   []string         `json:"columns" doc:"names in order"`
	Rows      []map[string]any `json:"rows" doc:"the rows, with format rows; else none"`
	Text      string           `json:"text,omitempty" doc:"the table, with format csv or markdown"`
	TotalRows int              `json:"total_rows" doc:"rows before offset and limit"`
	Truncated bool             `json:"truncated" doc:"there are more rows after these"`
}
