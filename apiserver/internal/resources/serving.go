package resources

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/fieldplan"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/releases"
)

// Serving says which kinds and fields a table has. The zero value selects the kinds and fields that
// upstream's newest release serves by default.
type Serving struct {
	Gates featuregates.Gates
	APIs  featuregates.RuntimeConfig
}

// AllFeatures returns all features of the newest release, with the resources that they need.
func AllFeatures() Serving {
	gates, err := featuregates.New(releases.Newest, map[string]bool{"AllAlpha": true, "AllBeta": true})
	if err != nil {
		panic(err) // these gates always exist
	}
	return Serving{Gates: gates, APIs: featuregates.Serving(featureResources...)}
}

// featureResources are the resources behind feature gates of which there is no stable version.
var featureResources = []string{
	"scheduling.k8s.io/v1beta1/podgroups", "scheduling.k8s.io/v1beta1/workloads", "resource.k8s.io/v1alpha3/resourcepoolstatusrequests",
	"internal.apiserver.k8s.io/v1alpha1/storageversions",
}

// Builtin returns the table of the kinds that every apiserver serves. Each call builds
// a new table, from literals only, so it is fast.
func Builtin() *Table { return BuiltinFor(Serving{}) }

// BuiltinFor returns the table of the kinds that are served, and of those that only the parts of the
// cluster use (Hidden).
func BuiltinFor(s Serving) *Table {
	stored := slices.Concat(
		coreRows(), workloadRows(), networkRows(), storageRows(), authorizationRows(), reviewRows(), admissionRows(), clusterRows(), deviceRows(),
		featureRows(),
	)
	var rows []*Resource
	for _, row := range append(stored, otherVersions(stored)...) {
		switch {
		case s.serves(row):
		case row.Storage == nil && !slices.Contains(featureResources, row.GroupVersion().String()+"/"+row.Plural):
			row.Hidden = true
		default:
			continue
		}
		s.adapt(row)
		rows = append(rows, row)
	}
	table := NewTable(rows...)
	table.lacks = map[releases.Field]bool{}
	for _, field := range s.Gates.Lacks() {
		table.lacks[field] = true
	}
	return table
}

// serves reports whether the release has a kind, and the kind and its version are on.
func (s Serving) serves(row *Resource) bool {
	release := s.Gates.Release()
	return existsIn(release, row) && s.Gates.Serves(row.Group, row.Plural) && s.APIs.Serves(release, row.GVR())
}

// existsIn reports whether a release has a version of a kind, by the life-cycle that the types of
// k8s.io/api declare.
func existsIn(release releases.Minor, row *Resource) bool {
	if row.Since > release {
		return false
	}
	obj := row.New()
	if t, ok := obj.(interface{ APILifecycleIntroduced() (major, minor int) }); ok && t != nil {
		if _, minor := t.APILifecycleIntroduced(); minor > int(release) {
			return false
		}
	}
	if t, ok := obj.(interface{ APILifecycleRemoved() (major, minor int) }); ok {
		if _, minor := t.APILifecycleRemoved(); minor <= int(release) {
			return false
		}
	}
	return true
}

// adapt removes from a row the parts that the release does not have.
func (s Serving) adapt(row *Resource) {
	release := s.Gates.Release()
	row.Subresources = slices.DeleteFunc(row.Subresources, func(sub Subresource) bool {
		return sub.Since > release || !s.Gates.Serves(row.Group, row.Plural+"/"+sub.Name)
	})
	if warnedSince(row.Warning) > release {
		row.Warning = ""
	}
	if send := row.Strategy.Warnings; send != nil && release < releases.Newest {
		row.Strategy.Warnings = func(obj, old runtime.Object) []string {
			return slices.DeleteFunc(send(obj, old), func(text string) bool { return warnedSince(text) > release })
		}
	}
	if row.Adapt != nil {
		row.Adapt(row, s.Gates)
	}
	s.adaptFields(row)
}

// adaptFields makes a row drop fields of features that are off, unless the object has them already, and
// know nothing of fields that the release does not have.
func (s Serving) adaptFields(row *Resource) {
	t := reflect.TypeOf(row.New())
	fields := fieldsFor(s.Gates)
	if len(fields.lacking) > 0 {
		row.Unknown = func(obj runtime.Object) []string {
			plan := fields.lackingIn(t)
			paths := plan.Paths(obj)
			if paths != nil {
				plan.Clear(obj, 0)
			}
			return paths
		}
	}
	row.Drop = func(obj, old runtime.Object) {
		plan := fields.offIn(t)
		if plan == nil {
			return
		}
		var keep fieldplan.Mask
		if old != nil {
			keep = plan.Set(old)
		}
		plan.Clear(obj, keep)
	}
	if fill := row.Strategy.Default; fill != nil && !s.Gates.IsDefault() {
		row.Strategy.Default = func(obj runtime.Object) {
			plan := fields.offIn(t)
			given := plan.Set(obj)
			fill(obj)
			plan.Clear(obj, given)
		}
	}
}

// newerWarnings are warnings that do not say since when they are sent.
var newerWarnings = []struct {
	part  string
	since releases.Minor
}{
	{"overlapping paths", 32},
	{"is ignored for headless services", 34},
	{"spec.trafficDistribution: ", 35},
	{"spec.externalIPs is deprecated", 36},
}

var inVersion = regexp.MustCompile(`v1\.([0-9]+)`)

// warnedSince returns the release since which a warning is sent, as far as it matters.
func warnedSince(text string) releases.Minor {
	for _, w := range newerWarnings {
		if strings.Contains(text, w.part) {
			return w.since
		}
	}
	if m := inVersion.FindStringSubmatch(text); m != nil {
		minor, _ := strconv.Atoi(m[1]) // at most a few digits of a constant text
		return releases.Minor(minor)
	}
	return 0
}
