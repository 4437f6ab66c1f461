package arrivals

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Read reads a curve from the content of a file: the JSON of a range query that Prometheus answered, or CSV.
func Read(data []byte) (Rate, error) {
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		return readPrometheus(trimmed)
	}
	return readCSV(data)
}

// readCSV reads lines of a time and a rate. A time is a number of seconds, a duration or of RFC 3339; the curve begins with the first. A
// first line that is not of this form is a header.
func readCSV(data []byte) (Rate, error) {
	reader := csv.NewReader(bytes.NewReader(data))
	reader.FieldsPerRecord, reader.TrimLeadingSpace, reader.Comment, reader.ReuseRecord = 2, true, '#', true
	var points []Point
	var first time.Duration
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Rate{}, fmt.Errorf("reading a rate as CSV of TIME,RATE: %w", err)
		}
		line, _ := reader.FieldPos(0)
		at, atErr := parseAt(record[0])
		rate, rateErr := strconv.ParseFloat(strings.TrimSpace(record[1]), 64)
		if err := errors.Join(atErr, rateErr); err != nil {
			if line == 1 {
				continue
			}
			return Rate{}, fmt.Errorf("line %d: %w", line, err)
		}
		if len(points) == 0 {
			first = at
		}
		points = append(points, Point{at - first, rate})
		if len(points) > maxPoints {
			break // NewRate says so
		}
	}
	if len(points) == 0 {
		return Rate{}, errors.New("the file has no line of TIME,RATE")
	}
	return NewRate(points, false)
}

func parseAt(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if s, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(s) < Never.Seconds() {
		return time.Duration(math.Round(s * float64(time.Second))), nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return time.Duration(t.UnixNano()), nil
	}
	return 0, fmt.Errorf("%q is not a number of seconds, a duration or a time of RFC 3339", text)
}

// readPrometheus reads the answer to a range query (api/v1/query_range): a matrix with one series.
func readPrometheus(data []byte) (Rate, error) {
	var answer struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Data   struct {
			Type   string `json:"resultType"`
			Result []struct {
				Values [][2]any `json:"values"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return Rate{}, fmt.Errorf("reading the answer of Prometheus: %w", err)
	}
	switch {
	case answer.Error != "":
		return Rate{}, fmt.Errorf("the query failed in Prometheus: %s", answer.Error)
	case answer.Data.Type != "matrix":
		return Rate{}, fmt.Errorf("the answer of Prometheus has the type %q, and must be the matrix of a range query", answer.Data.Type)
	case len(answer.Data.Result) != 1:
		return Rate{}, fmt.Errorf("the answer of Prometheus has %d series, and must have one: ask for their sum", len(answer.Data.Result))
	}
	values := answer.Data.Result[0].Values
	points := make([]Point, 0, len(values))
	for i, v := range values {
		at, isNumber := v[0].(float64)
		text, isText := v[1].(string)
		rate, err := strconv.ParseFloat(text, 64)
		if !isNumber || !isText || err != nil {
			return Rate{}, fmt.Errorf("value %d of the series is not [TIME, \"RATE\"]", i+1)
		}
		first := values[0][0].(float64) // it was read in the first turn
		points = append(points, Point{seconds(at - first), rate})
	}
	if len(points) == 0 {
		return Rate{}, errors.New("the series of Prometheus has no values")
	}
	return NewRate(points, false)
}
