package ownership

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Parsed FieldsV1 is written back unchanged, and means the same to the library.
func FuzzFieldsV1(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"f:a":{}}`, `{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}`, `{"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:image":{}}}}}`,
		`{"f:b":{},"f:a":{}}`, `{"f:a":{},"f:a":{}}`, `{"f:a":{"f:a":{"f:a":{}}}}`, `{"v:\"x\"":{}}`, `{"i:0":{}}`, `{".":{}}`, `{"f:a":1}`, `{"f:a":{}`, `{"f:\u0061":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseSet(data)
		if err != nil {
			return // left to the library
		}
		written := s.appendJSON(nil, false)
		again, err := parseSet(written)
		if err != nil || !bytes.Equal(again.appendJSON(nil, false), written) {
			t.Fatalf("%s is written as %s, and that is read as %v, %v", data, written, again, err)
		}
		theirs, ours := &fieldpath.Set{}, &fieldpath.Set{}
		fields := &metav1.FieldsV1{}
		fields.SetRawBytes(data)
		if err := theirs.FromJSON(fields.GetRawReader()); err != nil {
			return
		}
		if err := ours.FromJSON(bytes.NewReader(written)); err != nil {
			t.Fatalf("%s is written as %s: %v", data, written, err)
		}
		if !theirs.Equals(ours) {
			t.Fatalf("%s is\n%s, and was\n%s", written, ours, theirs)
		}
	})
}

// The operations satisfy the laws of sets.
func FuzzSets(f *testing.F) {
	f.Add([]byte(`{"f:a":{".":{},"f:b":{}}}`), []byte(`{"f:a":{}}`))
	f.Add([]byte(`{"f:a":{"f:b":{},"f:c":{}}}`), []byte(`{"f:a":{"f:c":{}},"f:d":{}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		left, err := parseSet(a)
		if err != nil {
			return
		}
		right, err := parseSet(b)
		if err != nil {
			return
		}
		json := func(s set) string { return string(s.appendJSON(nil, false)) }
		if json(union(left, right)) != json(union(right, left)) {
			t.Errorf("the union of %s and %s depends on their order", a, b)
		}
		rest, same := without(left, right)
		if same != (json(rest) == json(left)) {
			t.Errorf("%s without %s is %s, the same: %v", a, b, json(rest), same)
		}
		if empty, _ := without(left, union(left, right)); len(empty) > 0 {
			t.Errorf("%s without itself and more is %s", a, json(empty))
		}
		if json(union(rest, left)) != json(left) {
			t.Errorf("%s and a part of it is %s", a, json(union(rest, left)))
		}
	})
}
