package response_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"minikcm.dev/minikcm/apiserver/internal/response"
)

// TestWarnIsBounded checks that a warning is sent once, and that long ones are cut when
// their sum is too large for a header.
func TestWarnIsBounded(t *testing.T) {
	w := httptest.NewRecorder()
	response.Warn(w, "a")
	response.Warn(w, "a")
	if got := w.Header()["Warning"]; len(got) != 1 || got[0] != `299 - "a"` {
		t.Errorf("warnings %q", got)
	}
	for i := range 100 {
		response.Warn(w, strings.Repeat(string(rune('b'+i%20)), 1000+i))
	}
	total := 0
	for _, text := range w.Header()["Warning"] {
		total += len(text)
	}
	if total > 6<<10 {
		t.Errorf("%d bytes of warnings", total)
	}
}
