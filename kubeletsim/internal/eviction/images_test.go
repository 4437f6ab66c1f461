package eviction

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/usage"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// imageOf is an image of so many hundredths of the disk of 10Gi, which came so long before start and
// was used last so long before it; 0: never.
func imageOf(name string, hundredths int64, age, unused time.Duration, inUse bool) Image {
	i := Image{Name: name, Size: hundredths * (10 << 30) / 100, Since: start.Add(-age), InUse: inUse}
	if unused > 0 {
		i.Used = start.Add(-unused)
	}
	return i
}

func named(images []Image) string {
	var names []string
	for _, i := range images {
		names = append(names, i.Name)
	}
	return strings.Join(names, " ")
}

// TestCollect: above the high threshold, the images that have been unused for longest are removed
// until the disk is at the low one.
func TestCollect(t *testing.T) {
	const h = time.Hour
	old := func(name string, hundredths int64, unused time.Duration) Image {
		return imageOf(name, hundredths, 24*h, unused, false)
	}
	used := imageOf("used", 50, 24*h, 0, true)
	fresh := imageOf("fresh", 40, time.Minute, 0, false)
	tests := []struct {
		name   string
		policy []string
		images []Image
		disk   string
		want   string
	}{
		{"enough", nil, []Image{used, old("a", 30, h)}, "0", ""},
		{"the one that was unused for longest", nil, []Image{old("a", 20, h), used, old("b", 20, 2*h)}, "0", "b"},
		{"never used", nil, []Image{old("a", 20, 9*h), used, old("b", 20, 0)}, "0", "b"},
		{"as many as necessary", nil, []Image{old("a", 2, h), old("b", 3, 3*h), used, old("c", 4, 2*h), old("d", 30, 30*time.Minute)}, "0", "b c a"},
		{"files count", nil, []Image{old("a", 10, h), used}, "3Gi", "a"},
		{"too young", nil, []Image{used, fresh}, "0", "failed: (90% of 10.0 GiB used) freed 0"},
		{"not enough", nil, []Image{used, old("a", 1, h)}, "4Gi", "a failed: (91% of 10.0 GiB used) freed 107374182"},
		{"another threshold", []string{AnnotationImageHigh, "60", AnnotationImageLow, "55%"}, []Image{used, old("a", 20, h)}, "0", "a"},
		{"another age", []string{AnnotationImageMinAge, "30s"}, []Image{used, fresh}, "0", "fresh"},
		{"off", []string{AnnotationImageHigh, "100"}, []Image{used, old("a", 50, h)}, "0", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := nodeOf(using("p", "0", podtest.Annotated("ephemeral-storage", tt.disk)))
			n.Images = tt.images
			c := Collect(defaults(t, tt.policy...), n, start)
			got := named(c.Remove)
			if c.Failed != "" {
				var percent, size, unit string
				var freed int64
				const text = "Insufficient free disk space on the node's image filesystem %s of %s %s used). Failed to free sufficient space by deleting unused images (freed %d bytes). "
				if _, err := fmt.Sscanf(c.Failed, text, &percent, &size, &unit, &freed); err != nil {
					t.Errorf("%q: %v", c.Failed, err)
				}
				got = strings.TrimSpace(fmt.Sprintf("%s failed: %s of %s %s used) freed %d", got, percent, size, unit, freed))
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestNextCollection: a collection is planned for the first multiple of five minutes at which the
// disk is full enough, and none if it never can be.
func TestNextCollection(t *testing.T) {
	grid := start.Truncate(CollectionInterval).Add(CollectionInterval)
	for load, want := range map[string]string{
		"1Gi":                 "never",
		"4Gi":                 "0s collect",
		"ramp 0 4Gi 30m":      "25m0s collect",
		"steps 1Gi 3h 4Gi":    "55m0s look ahead",
		"steps 0 7m 4Gi 4m 0": "5m0s collect",
	} {
		n := nodeOf(using("p", "0", podtest.Annotated("ephemeral-storage", load)))
		n.Pods[0].Containers = []Container{NewContainer(usage.Model{}, n.Pods[0].Object, n.Pods[0].Containers[0].Spec, grid.Add(-CollectionInterval))}
		n.Images = []Image{imageOf("a", 50, time.Hour, 0, true)}
		p := defaults(t, AnnotationHard, "nodefs.available<0")
		got := "never"
		if plan := Next(p, n, &State{}, grid.Add(-time.Second)); plan.Collect {
			got = fmt.Sprint(plan.At.Sub(grid), " collect")
		} else if !plan.At.IsZero() {
			got = fmt.Sprint(plan.At.Sub(grid), " look ahead")
		}
		if got != want {
			t.Errorf("%s: %s, want %s", load, got, want)
		}
	}
}

// TestReclaimImages: under pressure, unused images are removed before a pod is evicted.
func TestReclaimImages(t *testing.T) {
	for _, tt := range []struct {
		name, disk, want string
		images           []Image
	}{
		{"images suffice", "5Gi", "reclaim ephemeral-storage; remove a b", []Image{imageOf("b", 20, time.Hour, time.Minute, false), imageOf("a", 25, time.Hour, time.Hour, false)}},
		{"they do not", "9728Mi", "reclaim ephemeral-storage; remove a; evict uid-p", []Image{imageOf("a", 1, time.Hour, time.Hour, false), imageOf("c", 1, time.Hour, 0, true)}},
		{"none is unused", "5Gi", "reclaim ephemeral-storage; evict uid-p", []Image{imageOf("c", 45, time.Hour, 0, true)}},
	} {
		n := nodeOf(using("p", "0", podtest.Annotated("ephemeral-storage", tt.disk)))
		n.Images = tt.images
		s, out := Step(defaults(t), n, State{}, start)
		got := "reclaim " + string(out.Reclaim)
		if len(out.Remove) > 0 {
			got += "; remove " + named(out.Remove)
		}
		for _, e := range out.Evictions {
			got += "; evict " + string(e.Pod)
		}
		if got != tt.want || fmt.Sprint(s.Conditions()) != "[DiskPressure]" {
			t.Errorf("%s: %s %v, want %s", tt.name, got, s.Conditions(), tt.want)
		}
	}
}
