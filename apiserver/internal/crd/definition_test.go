package crd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

func row() *resources.Resource { return Row(scheme.Scheme) }

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name, old, new string
		want           string
	}{
		{"fine", "", "", ""},
		{"name", "name: widgets.example.com", "name: widgets.example.org", `metadata.name: Invalid value: "widgets.example.org": must be spec.names.plural+"."+spec.group`},
		{"scope", "scope: Namespaced", "scope: Global", `spec.scope: Unsupported value: "Global": supported values: "Cluster", "Namespaced"`},
		{"no kind", "kind: Widget,", "", "spec.names.kind: Required value"},
		{"plural", "plural: widgets", "plural: Widgets", `spec.names.plural: Invalid value: "Widgets"`},
		{"list kind", "listKind: WidgetList", "listKind: Widget", `spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same`},
		{"no type", "type: object\n        properties", "properties", "spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root"},
		{"two stored", "storage: false", "storage: true", "must have exactly one version marked as storage version"},
		{"default", "default: 1}", "default: x}", `spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size].default: Invalid value: "string"`},
		{"not structural", "size: {type: integer, default: 1}", "size: {default: 1}", "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size].type: Required value: must not be empty for specified object fields"},
		{"no schema", "schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}", "", "spec.versions[1].schema.openAPIV3Schema: Required value"},
		{"rule", "type: string, nullable: true}", `type: string, x-kubernetes-validations: [{rule: "self.x"}]}`, "ERROR: <input>:1:5: type 'string' does not support field selection"},
		{"expensive", "type: string, nullable: true}", `type: string, x-kubernetes-validations: [{rule: "self.matches(self)"}]}`, "estimated rule cost exceeds budget"},
		{"pattern", "type: string, nullable: true}", `type: string, pattern: "("}`, "must be a valid regular expression"},
		{"status", "status: {}", "scale: {specReplicasPath: replicas, statusReplicasPath: .status.replicas}", "spec.versions[0].subresources.scale.specReplicasPath: Invalid value"},
		{"group", "group: example.com", "group: example", `spec.group: Invalid value: "example": should be a domain with at least one dot`},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(base, test.old, test.new, 1)
			if test.old != "" && text == base {
				t.Fatalf("the definition has no %q", test.old)
			}
			d := parse(t, text)
			strategy := row().Strategy
			strategy.PrepareCreate(d)
			errs := strategy.ValidateCreate(d)
			if test.want == "" {
				if len(errs) > 0 {
					t.Fatal(errs)
				}
				return
			}
			if len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), test.want) {
				t.Fatalf("want %s\ngot %v", test.want, errs)
			}
		})
	}
}

func TestValidateUpdate(t *testing.T) {
	strategy := row().Strategy
	old := parse(t, base)
	strategy.PrepareCreate(old)
	Settle(old, nil, metav1.Time{})
	old.ResourceVersion = "1"
	d := old.DeepCopy()
	d.Spec.Scope = apiextensionsv1.ClusterScoped
	d.Spec.Names.Kind = "Gadget"
	errs := strategy.ValidateUpdate(d, old)
	if len(errs) != 2 || !strings.Contains(errs.ToAggregate().Error(), "field is immutable") {
		t.Fatal(errs)
	}
	d = old.DeepCopy()
	d.Spec.Versions = d.Spec.Versions[1:]
	d.Spec.Versions[0].Storage = true
	strategy.PrepareUpdate(d, old)
	errs = strategy.ValidateUpdate(d, old)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), `status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version`) {
		t.Fatal(errs)
	}
}

func TestWarnings(t *testing.T) {
	d := parse(t, strings.Replace(base, "format: date-time", "format: odd", 1))
	warn := row().Strategy.Warnings
	if got := warn(d, nil); len(got) != 1 || got[0] != `unrecognized format "odd"` {
		t.Errorf("%q", got)
	}
	if got := warn(d, d); len(got) != 0 {
		t.Errorf("known already: %q", got)
	}
}

// Definitions are stored and read unchanged, in upstream's form and in v1's.
func TestStored(t *testing.T) {
	d := parse(t, base)
	row().Strategy.PrepareCreate(d)
	Settle(d, nil, metav1.Time{})
	data, err := storedForm.Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	got := &apiextensionsv1.CustomResourceDefinition{}
	if err := storedForm.Decode(data, got); err != nil {
		t.Fatal(err)
	}
	d.TypeMeta = metav1.TypeMeta{}
	if diff := cmp.Diff(d, got); diff != "" {
		t.Error(diff)
	}
	again, err := storedForm.Encode(got)
	if err != nil || string(again) != string(data) {
		t.Errorf("encoded again: %v\n%s\n%s", err, data, again)
	}
	if err := storedForm.Decode([]byte(`{"apiVersion":"v2"}`), got); err == nil {
		t.Error("another version is read")
	}
}

func TestSettle(t *testing.T) {
	now := metav1.Unix(1000, 0)
	first := parse(t, base)
	Settle(first, nil, now)
	if !Served(first) || !NamesAccepted(first) || first.Status.Conditions[0].LastTransitionTime != now {
		t.Fatalf("%+v", first.Status)
	}
	for _, test := range []struct {
		name, reason, message string
		change                func(*apiextensionsv1.CustomResourceDefinitionNames)
	}{
		{"plural", "PluralConflict", `"widgets" is already in use`, func(n *apiextensionsv1.CustomResourceDefinitionNames) { n.Plural = "widgets" }},
		{"singular", "SingularConflict", `"widget" is already in use`, func(n *apiextensionsv1.CustomResourceDefinitionNames) { n.Singular = "widget" }},
		{"short", "ShortNamesConflict", `["widget" is already in use, "widgets" is already in use]`, func(n *apiextensionsv1.CustomResourceDefinitionNames) {
			n.ShortNames = []string{"widget", "g", "widgets"}
		}},
		{"kind", "KindConflict", `"Widget" is already in use`, func(n *apiextensionsv1.CustomResourceDefinitionNames) { n.Kind = "Widget" }},
		{"none", "NoConflicts", "no conflicts found", func(*apiextensionsv1.CustomResourceDefinitionNames) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := parse(t, strings.NewReplacer("widget", "gadget", "Widget", "Gadget").Replace(base))
			test.change(&d.Spec.Names)
			Settle(d, []*apiextensionsv1.CustomResourceDefinition{first, d}, now)
			if got := d.Status.Conditions[0]; got.Reason != test.reason || got.Message != test.message || Served(d) != (test.name == "none") {
				t.Errorf("%+v", d.Status)
			}
		})
	}
	later := metav1.Unix(2000, 0)
	Settle(first, nil, later)
	if first.Status.Conditions[0].LastTransitionTime != now {
		t.Error("a condition that stays as it is has another time")
	}
}

func TestApproval(t *testing.T) {
	d := parse(t, strings.ReplaceAll(base, "example.com", "things.k8s.io"))
	d.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, a test"}
	Settle(d, nil, metav1.Time{})
	last := d.Status.Conditions[len(d.Status.Conditions)-1]
	if last.Type != apiextensionsv1.KubernetesAPIApprovalPolicyConformant || last.Status != apiextensionsv1.ConditionFalse || last.Reason != "UnapprovedAnnotation" {
		t.Errorf("%+v", last)
	}
}

func TestDeletion(t *testing.T) {
	strategy := row().Strategy
	d := parse(t, base)
	Settle(d, nil, metav1.Time{})
	now := metav1.Unix(1000, 0)
	d.DeletionTimestamp = &now
	strategy.MarkDeleted(d)
	if !NeedsCleanup(d) || !isTrue(d, apiextensionsv1.Terminating) {
		t.Fatalf("%+v", d)
	}
	Emptying(d, now)
	Emptied(d, now)
	if NeedsCleanup(d) || len(d.Finalizers) > 0 || isTrue(d, apiextensionsv1.Terminating) {
		t.Fatalf("%+v", d)
	}
}

// A schema that is not structural has no selectable fields.
func TestSelectableWithoutStructure(t *testing.T) {
	d := parse(t, base)
	d.Spec.Versions[0].SelectableFields = []apiextensionsv1.SelectableField{{JSONPath: ".spec.a"}}
	d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{Enum: []apiextensionsv1.JSON{{Raw: []byte("1")}}}
	if errs := validateNew(d); len(errs) == 0 {
		t.Error("accepted")
	}
	if errs := validateChange(d, parse(t, base)); len(errs) == 0 {
		t.Error("accepted")
	}
}

// A default of an object's items, which the library accepts but cannot use, is rejected.
func TestUnusableDefault(t *testing.T) {
	d := parse(t, base)
	d.Spec.Versions[0].Schema.OpenAPIV3Schema.Items = &apiextensionsv1.JSONSchemaPropsOrArray{
		Schema: &apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"a"`)}},
	}
	for _, errs := range []field.ErrorList{validateNew(d), validateChange(d, parse(t, base))} {
		if len(errs) == 0 {
			t.Error("accepted")
		}
	}
}
