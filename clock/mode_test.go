package clock

import (
	"strings"
	"testing"
)

func TestParseMode(t *testing.T) {
	for text, want := range map[string]float64{"real": 0, "virtual": 0, "scaled=60": 60, "scaled=0.5": 0.5} {
		if mode, factor, err := ParseMode(text); err != nil || factor != want || !strings.HasPrefix(text, string(mode)) {
			t.Errorf("%s: %s, %v, %v", text, mode, factor, err)
		}
	}
	for _, text := range []string{"", "real=1", "virtual=1", "scaled", "scaled=", "scaled=x", "scaled=0", "scaled=-1", "scaled=NaN", "scaled=Inf", "Real"} {
		if mode, factor, err := ParseMode(text); err == nil {
			t.Errorf("%s: %s, %v", text, mode, factor)
		}
	}
}
