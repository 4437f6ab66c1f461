package scenarios

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// object reads YAML as an object of the cluster.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	fields, ok := value(t, text).(map[string]any)
	if !ok {
		t.Fatalf("%s is no object", text)
	}
	return &unstructured.Unstructured{Object: fields}
}

func TestWaitFor(t *testing.T) {
	t.Parallel()
	pod := object(t, `
kind: Pod
metadata: {name: web, namespace: default}
status:
  phase: Running
  replicas: 3
  podIP: ""
  conditions:
    - {type: Ready, status: "True"}
    - {type: Initialized, status: "False", reason: ContainersNotInitialized, message: containers with incomplete status}
`)
	for text, want := range map[string]string{ // empty: it holds
		"create":                           "",
		"delete":                           "pod default/web still exists",
		"condition=Ready":                  "",
		"condition=ready=true":             "",
		"condition=Ready=False":            "condition Ready of pod default/web is True (<nil>: <nil>)",
		"condition=Initialized":            "condition Initialized of pod default/web is False (ContainersNotInitialized: containers with incomplete status)",
		"condition=Initialized=False":      "",
		"condition=Sunny":                  "pod default/web has no condition Sunny",
		"jsonpath={.status.phase}=Running": "",
		"jsonpath={.status.phase}=Failed":  `{.status.phase} of pod default/web is "Running"`,
		"jsonpath={.status.phase}":         "",
		"jsonpath={.status.podIP}":         `{.status.podIP} of pod default/web is ""`,
		"jsonpath={.status.podIP}=":        "",
		"jsonpath={.status.nothing}":       `{.status.nothing} of pod default/web is ""`,
		"jsonpath={.status.replicas}=3":    "",
		"jsonpath={.metadata.name}=web":    "",
		`jsonpath={.status.conditions[?(@.type=="Ready")].status}=True`: "",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			f, err := parseFor(text)
			if err != nil {
				t.Fatal(err)
			}
			err = f.holds(pod)
			var d *differs
			switch {
			case want == "" && err != nil:
				t.Errorf("it does not hold: %v", err)
			case want != "" && (!errors.As(err, &d) || err.Error() != want):
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// A condition that is not one is an error, not something to wait for.
func TestWaitForOddObject(t *testing.T) {
	t.Parallel()
	f, err := parseFor("condition=Ready")
	if err != nil {
		t.Fatal(err)
	}
	var d *differs
	if err := f.holds(object(t, "{kind: Pod, metadata: {name: a}, status: {conditions: none}}")); err == nil || errors.As(err, &d) || !strings.Contains(err.Error(), "pod/a") {
		t.Errorf("got %v", err)
	}
	if err := f.holds(object(t, "{kind: Pod, metadata: {name: a}, status: {conditions: [none]}}")); !errors.As(err, &d) {
		t.Errorf("got %v", err)
	}
}
