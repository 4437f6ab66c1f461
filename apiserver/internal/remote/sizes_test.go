package remote

import (
	"io"
	"strings"
	"testing"
)

// A message that does not end is not kept in memory.
func TestLongSize(t *testing.T) {
	long := strings.NewReader(`{"Width":1,"Height":1} {"Width":` + strings.Repeat(" ", 2*maxSizeBytes) + `2,"Height":2}`)
	s := newSizes(t.Context())
	s.read(long)
	if first := s.Next(); first == nil || first.Width != 1 {
		t.Errorf("the first size is %v", first)
	}
	if second := s.Next(); second != nil {
		t.Errorf("the second size is %v", second)
	}
	if n, err := long.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the rest was not read: %d, %v", n, err)
	}
}
