package feeds

import (
	"encoding/json"
	"strconv"
	"testing"
	"unicode/utf8"
)

func TestParseEvent(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		want event
		err  bool
	}{
		"an object": {
			line: `{"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"a","labels":{"uid":"x"},"uid":"u","resourceVersion":"7","managedFields":[` /* the rest is not looked at */, want: event{version: 7, uid: "u"},
		},
		"metadata late":         {line: `{"type":"DELETED","object":{"spec":{"metadata":{"uid":"no"}},"metadata":{"resourceVersion":"8","uid":"u"}}}`, want: event{version: 8, uid: "u"}},
		"a bookmark":            {line: `{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9","creationTimestamp":null}}}`, want: event{version: 9}},
		"an end":                {line: `{"type":"ERROR","object":{"kind":"Status","code":410}}`, want: event{failed: true}},
		"no version":            {line: `{"type":"ADDED","object":{"metadata":{"uid":"u"}}}`, err: true},
		"a version of letters":  {line: `{"type":"ADDED","object":{"metadata":{"uid":"u","resourceVersion":"x"}}}`, err: true},
		"no object":             {line: `{"type":"ADDED"}`, err: true},
		"an object before type": {line: `{"object":{"metadata":{"uid":"u","resourceVersion":"1"}},"type":"ADDED"}`, err: true},
		"a list":                {line: `[]`, err: true},
		"half a line":           {line: `{"type":"ADDED","object":{"metadata":{"uid":"u`, err: true},
		"nothing":               {line: ``, err: true},
	} {
		got, err := parseEvent([]byte(test.line))
		if (err != nil) != test.err {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (got.version != test.want.version || got.uid != test.want.uid || got.failed != test.want.failed || string(got.line) != test.line) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{"metadata":{"uid":"u","resourceVersion":"1"}}}`), "u", "label", uint64(1))
	f.Add([]byte(`{"type":`), "\"", "\\", uint64(0))
	f.Fuzz(func(t *testing.T, line []byte, uid, label string, version uint64) {
		_, _ = parseEvent(line) // ends, without a panic
		if uid == "" || !utf8.ValidString(uid) {
			return
		}
		whole, err := json.Marshal(map[string]any{"type": "X", "object": map[string]any{"a": label, "metadata": map[string]any{
			"labels": map[string]string{label: label}, "uid": uid, "resourceVersion": strconv.FormatUint(version, 10),
		}}})
		if err != nil {
			t.Fatal(err)
		}
		// Marshal sorts the fields, and the object comes before the type.
		line = append(append([]byte(`{"type":"X",`), whole[1:len(whole)-len(`,"type":"X"}`)]...), '}')
		if got, err := parseEvent(line); err != nil || got.uid != uid || got.version != version {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	})
}
