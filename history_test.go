package minikcm

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/clock"
)

func TestParseHistory(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]History{
		"1h30m": {Duration: 90 * time.Minute}, "10s": {Duration: 10 * time.Second}, "20000": {Revisions: 20_000}, "1": {Revisions: 1},
	} {
		got, err := ParseHistory(text)
		if err != nil || got != want {
			t.Errorf("%s is read as %+v: %v", text, got, err)
		}
		if again, err := ParseHistory(got.text()); err != nil || again != got {
			t.Errorf("%s is written as %s", text, got.text())
		}
	}
	for _, text := range []string{"", "0", "-5", "9s", "-1h", "much", "1.5", "99999999999999999999"} {
		if got, err := ParseHistory(text); err == nil || !strings.Contains(err.Error(), "such as 20000") {
			t.Errorf("%q is read as %+v: %v", text, got, err)
		}
	}
	for _, bad := range []History{{Duration: -1}, {Revisions: -1}, {Duration: time.Hour, Revisions: 1}} {
		if (&Options{Storage: StorageOptions{History: bad}}).Validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// Lists at an old revision work as long as the history says, and not forever.
func TestHistory(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		history         History
		kept, forgotten time.Duration
	}{
		"by default": {History{}, 4 * time.Minute, 11 * time.Minute},
		"an hour":    {History{Duration: time.Hour}, 59 * time.Minute, 67 * time.Minute},
		"revisions":  {History{Revisions: 1_000_000}, 24 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := Start(t.Context(), Options{Nodes: NodeOptions{Count: 1}, API: APIOptions{NoHTTPS: true}, Clock: ClockOptions{Mode: clock.ModeVirtual}, Seed: 1, Storage: StorageOptions{History: test.history}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}()
			if got := c.Info().History; got != test.history.text() {
				t.Errorf("the cluster says that its history is %q", got)
			}
			nodes := c.Client().CoreV1().Nodes()
			list, err := nodes.List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			then := metav1.ListOptions{ResourceVersion: list.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
			// A revision is forgotten only if there is a later one: an idle cluster makes none.
			later := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "later"}}
			if _, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), later, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := c.Advance(t.Context(), test.kept); err != nil {
				t.Fatal(err)
			}
			if _, err := nodes.List(t.Context(), then); err != nil {
				t.Errorf("after %v: %v", test.kept, err)
			}
			if test.forgotten == 0 {
				return
			}
			if err := c.Advance(t.Context(), test.forgotten-test.kept); err != nil {
				t.Fatal(err)
			}
			if _, err := nodes.List(t.Context(), then); err == nil {
				t.Errorf("after %v the revision is still there", test.forgotten)
			}
		})
	}
}
