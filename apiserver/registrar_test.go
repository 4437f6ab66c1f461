package apiserver_test

import (
	"slices"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices"

// apiServicesOf returns the APIServices by name.
func (h *harness) apiServicesOf() map[string]apiregistrationv1.APIService {
	h.t.Helper()
	h.idle()
	var list apiregistrationv1.APIServiceList
	h.mustSend("GET", apiServices, "").into(h.t, &list)
	byName := map[string]apiregistrationv1.APIService{}
	for _, s := range list.Items {
		byName[s.Name] = s
	}
	return byName
}

func TestAPIServicesAreThoseOfWhatIsServed(t *testing.T) {
	h := start(t)
	all := h.apiServicesOf()
	groups, err := h.client().Discovery().ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	versions := 0
	for _, group := range groups.Groups {
		for _, v := range group.Versions {
			versions++
			gv := must(schema.ParseGroupVersion(v.GroupVersion))(t)
			s, ok := all[gv.Version+"."+gv.Group]
			if !ok || s.Spec.Group != gv.Group || s.Spec.Version != gv.Version || s.Spec.Service != nil {
				t.Errorf("of %s: %+v", gv, s.Spec)
			}
			if c := s.Status.Conditions; len(c) != 1 || c[0].Status != "True" || c[0].Reason != "Local" || c[0].Message != "Local APIServices are always available" {
				t.Errorf("conditions of %s: %v", gv, c)
			}
		}
	}
	if len(all) != versions {
		t.Errorf("%d APIServices for %d versions", len(all), versions)
	}
	for name, want := range map[string][2]int32{"v1.": {18000, 1}, "v1.apps": {17800, 15}, "v2.autoscaling": {17500, 30}, "v1.flowcontrol.apiserver.k8s.io": {16100, 21}} {
		if s := all[name].Spec; s.GroupPriorityMinimum != want[0] || s.VersionPriority != want[1] {
			t.Errorf("priorities of %s: %d, %d", name, s.GroupPriorityMinimum, s.VersionPriority)
		}
	}
}

func TestAPIServicesFollowDefinitions(t *testing.T) {
	h := start(t)
	const definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.example.com"},
		"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gadgets","singular":"gadget","kind":"Gadget"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	h.mustSend("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition, "Content-Type", "application/json")
	s, ok := h.apiServicesOf()["v1.example.com"]
	if !ok || s.Spec.GroupPriorityMinimum != 1000 || s.Spec.VersionPriority != 100 || s.Labels["kube-aggregator.kubernetes.io/automanaged"] != "true" {
		t.Errorf("got %+v", s)
	}
	h.mustSend("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.example.com", "")
	if _, ok := h.apiServicesOf()["v1.example.com"]; ok {
		t.Error("it is still there")
	}
}

func TestAPIServiceOfAnotherServer(t *testing.T) {
	h := start(t)
	port := int32(443)
	wanted := &apiregistrationv1.APIService{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService"},
		ObjectMeta: metav1.ObjectMeta{Name: "v1.wardle.example.com"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: "wardle.example.com", Version: "v1", GroupPriorityMinimum: 2000, VersionPriority: 200, InsecureSkipTLSVerify: true,
			Service: &apiregistrationv1.ServiceReference{Namespace: "wardle", Name: "api"},
		},
	}
	var made apiregistrationv1.APIService
	h.mustSend("POST", apiServices, asJSON(t, wanted), "Content-Type", "application/json").into(t, &made)
	if len(made.Status.Conditions) != 0 || *made.Spec.Service.Port != port { // its server has not been checked
		t.Errorf("got %+v", made)
	}
	if _, ok := h.apiServicesOf()["v1.wardle.example.com"]; !ok {
		t.Error("it is not kept")
	}
	wanted.Name, wanted.Spec.VersionPriority, wanted.Spec.CABundle = "v2.wardle.example.com", 0, []byte("x")
	status := wantReply(t, h.send("POST", apiServices, asJSON(t, wanted), "Content-Type", "application/json"), 422, metav1.StatusReasonInvalid, "must be `spec.version+")
	var fields []string
	for _, cause := range status.Details.Causes {
		fields = append(fields, cause.Field)
	}
	if !slices.Equal(fields, []string{"metadata.name", "spec.versionPriority", "spec.insecureSkipTLSVerify"}) {
		t.Errorf("causes %v", fields)
	}
}

func TestFlowSchemasOfEveryCluster(t *testing.T) {
	h := start(t)
	h.idle()
	flows := h.client().FlowcontrolV1()
	schemas, err := flows.FlowSchemas().List(h.ctx, metav1.ListOptions{})
	if err != nil || len(schemas.Items) != 11 {
		t.Errorf("%d flow schemas, %v", len(schemas.Items), err)
	}
	levels, err := flows.PriorityLevelConfigurations().List(h.ctx, metav1.ListOptions{})
	if err != nil || len(levels.Items) != 8 {
		t.Errorf("%d priority levels, %v", len(levels.Items), err)
	}
	if err := flows.FlowSchemas().Delete(h.ctx, "catch-all", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.idle()
	if _, err := flows.FlowSchemas().Get(h.ctx, "catch-all", metav1.GetOptions{}); err != nil {
		t.Errorf("what is mandatory: %v", err)
	}
}

func TestFlowSchemasDangle(t *testing.T) {
	h := start(t)
	flows := h.client().FlowcontrolV1()
	dangles := func() flowcontrolv1.FlowSchemaCondition {
		t.Helper()
		h.idle()
		schema, err := flows.FlowSchemas().Get(h.ctx, "mine", metav1.GetOptions{})
		if err != nil || len(schema.Status.Conditions) != 1 {
			t.Fatal(schema, err)
		}
		return schema.Status.Conditions[0]
	}
	_, err := flows.FlowSchemas().Create(h.ctx, &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: "mine"},
		Spec: flowcontrolv1.FlowSchemaSpec{
			MatchingPrecedence: 9999, PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "mine"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c := dangles(); c.Status != flowcontrolv1.ConditionTrue || c.Reason != "NotFound" {
		t.Errorf("without its level: %v", c)
	}
	level, err := flows.PriorityLevelConfigurations().Get(h.ctx, "workload-low", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	level.ObjectMeta = metav1.ObjectMeta{Name: "mine"}
	if _, err := flows.PriorityLevelConfigurations().Create(h.ctx, level, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if c := dangles(); c.Status != flowcontrolv1.ConditionFalse || c.Reason != "Found" {
		t.Errorf("with its level: %v", c)
	}
	if err := flows.PriorityLevelConfigurations().Delete(h.ctx, "mine", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if c := dangles(); c.Status != flowcontrolv1.ConditionTrue {
		t.Errorf("without its level again: %v", c)
	}
}
