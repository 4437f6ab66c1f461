package resources

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/releases"
)

// discovered returns the resources in the discovery documents of the releases, without the groups that are
// not in the table: a line for each resource, by release.
func discovered(t *testing.T) map[releases.Minor][]string {
	t.Helper()
	file, err := os.Open("testdata/discovery.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := map[releases.Minor][]string{}
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		text := scanner.Text()
		cut := strings.LastIndex(text, " ")
		line, spans := text[:cut], text[cut+1:]
		if strings.HasPrefix(line, "apiextensions.k8s.io/") || strings.HasPrefix(line, "apiregistration.k8s.io/") {
			continue
		}
		for _, release := range releases.All() {
			if inSpans(t, spans, release) {
				lines[release] = append(lines[release], line)
			}
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// inSpans reports whether a release is in spans such as 30-33,36-.
func inSpans(t *testing.T, spans string, release releases.Minor) bool {
	t.Helper()
	for part := range strings.SplitSeq(spans, ",") {
		first, last := releases.Minor(0), releases.Newest
		switch n, err := fmt.Sscanf(part, "%d-%d", &first, &last); {
		case n == 0:
			t.Fatalf("span %q: %v", part, err)
		case n == 1 && !strings.HasSuffix(part, "-"):
			last = first
		}
		if first <= release && release <= last {
			return true
		}
	}
	return false
}

// discoveryOf returns the lines of the resources that a table serves.
func discoveryOf(table *Table) []string {
	var lines []string
	line := func(row *Resource, name, kind string, verbs, short, categories []string) {
		scope := "cluster"
		if row.Namespaced {
			scope = "namespaced"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s short=%s categories=%s", row.GroupVersion(), name, kind, scope,
			strings.Join(slices.Sorted(slices.Values(verbs)), ","), strings.Join(short, ","), strings.Join(categories, ",")))
	}
	for _, row := range table.Shown() {
		line(row, row.Plural, row.Kind, row.Verbs, row.ShortNames, row.Categories)
		for _, sub := range row.Subresources {
			kind := sub.Kind
			switch {
			case kind == "":
				kind = row.Kind
			case sub.GroupVersion() != row.GroupVersion():
				kind = strings.TrimPrefix(sub.GroupVersion().String()+"/", "/") + kind
			}
			line(row, row.Plural+"/"+sub.Name, kind, sub.Verbs, nil, nil)
		}
	}
	return lines
}

// notServed are resources of former releases, or of features that are off, whose versions are not served.
// docs/envtest.md lists them.
var notServed = []string{
	"authentication.k8s.io/v1alpha1 ", "authentication.k8s.io/v1beta1 ",
	"certificates.k8s.io/v1alpha1 podcertificaterequests",
	"coordination.k8s.io/v1alpha1 ", "coordination.k8s.io/v1alpha2 ", "coordination.k8s.io/v1beta1 ",
	"lifecycle.k8s.io/",
	"networking.k8s.io/v1alpha1 ",
	"resource.k8s.io/v1alpha2 ",
	"scheduling.k8s.io/v1alpha",
	"storagemigration.k8s.io/v1alpha1 ",
}

// notServedIn are more of them, by release.
var notServedIn = map[releases.Minor][]string{
	31: {"resource.k8s.io/v1alpha3 "},
	32: {"resource.k8s.io/v1alpha3 "},
	33: {"resource.k8s.io/v1alpha3 "},
	34: {"resource.k8s.io/v1alpha3 devicetaintrules"},
	35: {"certificates.k8s.io/v1beta1 podcertificaterequests"},
}

func isNotServed(release releases.Minor, line string) bool {
	has := func(prefix string) bool { return strings.HasPrefix(line, prefix) }
	return slices.ContainsFunc(notServed, has) || slices.ContainsFunc(notServedIn[release], has)
}

// TestReleasesServeWhatTheyServed compares what is served of each release, with all versions and features,
// and by default, with the discovery documents of the release.
func TestReleasesServeWhatTheyServed(t *testing.T) {
	all := discovered(t)
	everything, err := featuregates.ParseRuntimeConfig([]string{"api/all=true"})
	if err != nil {
		t.Fatal(err)
	}
	for _, release := range releases.All() {
		t.Run(release.String(), func(t *testing.T) {
			on, err := featuregates.New(release, map[string]bool{"AllAlpha": true, "AllBeta": true})
			if err != nil {
				t.Fatal(err)
			}
			want := slices.DeleteFunc(slices.Clone(all[release]), func(line string) bool { return isNotServed(release, line) })
			compareLines(t, "all on", want, discoveryOf(BuiltinFor(Serving{Gates: on, APIs: everything})))

			defaults, err := featuregates.New(release, nil)
			if err != nil {
				t.Fatal(err)
			}
			want = slices.DeleteFunc(slices.Clone(all[release]), func(line string) bool { return !isDefault(release, line) })
			compareLines(t, "by default", want, discoveryOf(BuiltinFor(Serving{Gates: defaults})))
		})
	}
}

// isDefault reports whether a release served a resource by default: if its version is stable and its
// feature was on, or if the version is flow control's last beta.
func isDefault(release releases.Minor, line string) bool {
	words := strings.Fields(line)
	version, name := words[0], words[1]
	switch {
	case strings.HasSuffix(version, "/v1beta3"):
		return true
	case strings.Contains(version, "alpha"), strings.Contains(version, "beta"):
		return false
	case name == "pods/resize":
		return release >= 33
	}
	return true
}

func compareLines(t *testing.T, what string, want, got []string) {
	t.Helper()
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("%s: not served: %s", what, line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("%s: served, and was not: %s", what, line)
		}
	}
}
