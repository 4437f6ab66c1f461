package chaosmesh

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The identity of the kinds.
const (
	Group   = "chaos-mesh.org"
	Version = "v1alpha1"

	KindPodChaos     = "PodChaos"
	KindNetworkChaos = "NetworkChaos"
	KindDNSChaos     = "DNSChaos"
	KindHTTPChaos    = "HTTPChaos"
	KindSchedule     = "Schedule"
	KindWorkflow     = "Workflow"
	// KindWorkflowNode is a part of a Workflow that runs, or has run. Only the controller
	// makes such objects.
	KindWorkflowNode = "WorkflowNode"
)

// The actions and modes of a PodChaos.
const (
	actionPodKill       = "pod-kill"
	actionPodFailure    = "pod-failure"
	actionContainerKill = "container-kill"

	modeOne              = "one"
	modeAll              = "all"
	modeFixed            = "fixed"
	modeFixedPercent     = "fixed-percent"
	modeRandomMaxPercent = "random-max-percent"
)

// PodChaosSpec is the spec of a PodChaos.
type PodChaosSpec struct {
	Common         `json:",inline"`
	Action         string   `json:"action"`
	ContainerNames []string `json:"containerNames"`
	GracePeriod    int64    `json:"gracePeriod"`
}

// Common are the fields of the specs of all experiments.
type Common struct {
	Selection `json:",inline"`
	Duration  string `json:"duration"`
	// RemoteCluster names another cluster, which there is none of.
	RemoteCluster string `json:"remoteCluster"`
}

func (c *Common) duration() string { return c.Duration }

// Selection chooses some of the selected pods.
type Selection struct {
	Mode     string   `json:"mode"`
	Value    string   `json:"value"`
	Selector Selector `json:"selector"`
}

// Selector says which pods are meant.
type Selector struct {
	Namespaces          []string                          `json:"namespaces"`
	LabelSelectors      map[string]string                 `json:"labelSelectors"`
	ExpressionSelectors []metav1.LabelSelectorRequirement `json:"expressionSelectors"`
	AnnotationSelectors map[string]string                 `json:"annotationSelectors"`
	FieldSelectors      map[string]string                 `json:"fieldSelectors"`
	PodPhaseSelectors   []string                          `json:"podPhaseSelectors"`
	Nodes               []string                          `json:"nodes"`
	NodeSelectors       map[string]string                 `json:"nodeSelectors"`
	Pods                map[string][]string               `json:"pods"`
}

// ScheduleSpec is the spec of a Schedule.
type ScheduleSpec struct {
	Schedule                string `json:"schedule"`
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds"`
	ConcurrencyPolicy       string `json:"concurrencyPolicy"`
	HistoryLimit            int    `json:"historyLimit"`
	Type                    string `json:"type"`
	Experiments             `json:",inline"`
	Workflow                *WorkflowSpec `json:"workflow"`
}

// WorkflowSpec is the spec of a Workflow.
type WorkflowSpec struct {
	Entry     string     `json:"entry"`
	Templates []Template `json:"templates"`
}

// Template is a part of a Workflow.
type Template struct {
	Name         string   `json:"name"`
	TemplateType string   `json:"templateType"`
	Deadline     string   `json:"deadline"`
	Children     []string `json:"children"`
	Experiments  `json:",inline"`
	Schedule     *ScheduleSpec `json:"schedule"`
}

// Experiments are the specs of experiments in a Schedule or a template, of which one is set.
type Experiments struct {
	PodChaos     *PodChaosSpec     `json:"podChaos,omitempty"`
	NetworkChaos *NetworkChaosSpec `json:"networkChaos,omitempty"`
	DNSChaos     *DNSChaosSpec     `json:"dnsChaos,omitempty"`
	HTTPChaos    *HTTPChaosSpec    `json:"httpChaos,omitempty"`
}

// of returns the spec of a kind; nil if it is not set.
func (e *Experiments) of(kind string) experimentSpec {
	switch {
	case kind == KindPodChaos && e.PodChaos != nil:
		return e.PodChaos
	case kind == KindNetworkChaos && e.NetworkChaos != nil:
		return e.NetworkChaos
	case kind == KindDNSChaos && e.DNSChaos != nil:
		return e.DNSChaos
	case kind == KindHTTPChaos && e.HTTPChaos != nil:
		return e.HTTPChaos
	}
	return nil
}
