package stages

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The group, version, kind and resource of Stages.
const (
	Group    = "kwok.x-k8s.io"
	Version  = "v1alpha1"
	Kind     = "Stage"
	Resource = "stages"
)

// manifest is a Stage as its author writes it.
type manifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              spec           `json:"spec"`
	Status            map[string]any `json:"status,omitempty"`
}

type spec struct {
	ResourceRef resourceRef     `json:"resourceRef"`
	Selector    *selector       `json:"selector,omitempty"`
	Weight      int64           `json:"weight,omitempty"`
	WeightFrom  *expressionFrom `json:"weightFrom,omitempty"`
	Delay       *delay          `json:"delay,omitempty"`
	Next        *next           `json:"next,omitempty"`
	// ImmediateNextStage needs no code: the runner matches an object again whenever it changes.
	ImmediateNextStage *bool  `json:"immediateNextStage,omitempty"`
	Steps              []step `json:"steps,omitempty"`
}

type resourceRef struct {
	APIGroup string `json:"apiGroup,omitempty"`
	Kind     string `json:"kind"`
}

type selector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchAnnotations map[string]string `json:"matchAnnotations,omitempty"`
	MatchExpressions []matchExpression `json:"matchExpressions,omitempty"`
}

type matchExpression struct {
	CEL      *expression `json:"cel,omitempty"`
	JQ       *jqSelector `json:"jq,omitempty"`
	Key      string      `json:"key,omitempty"`
	Operator string      `json:"operator,omitempty"`
	Values   []string    `json:"values,omitempty"`
}

type jqSelector struct {
	Key      string   `json:"key,omitempty"`
	Operator string   `json:"operator,omitempty"`
	Values   []string `json:"values,omitempty"`
}

type expression struct {
	Expression string `json:"expression,omitempty"`
}

type expressionFrom struct {
	CEL            *expression `json:"cel,omitempty"`
	JQ             *expression `json:"jq,omitempty"`
	ExpressionFrom string      `json:"expressionFrom,omitempty"`
}

type delay struct {
	DurationMilliseconds       *int64          `json:"durationMilliseconds,omitempty"`
	DurationFrom               *expressionFrom `json:"durationFrom,omitempty"`
	JitterDurationMilliseconds *int64          `json:"jitterDurationMilliseconds,omitempty"`
	JitterDurationFrom         *expressionFrom `json:"jitterDurationFrom,omitempty"`
}

type next struct {
	Event             *Event         `json:"event,omitempty"`
	Finalizers        *finalizers    `json:"finalizers,omitempty"`
	Delete            bool           `json:"delete,omitempty"`
	Patches           []patch        `json:"patches,omitempty"`
	StatusTemplate    string         `json:"statusTemplate,omitempty"`
	StatusSubresource *string        `json:"statusSubresource,omitempty"`
	StatusPatchAs     *impersonation `json:"statusPatchAs,omitempty"`
}

type step struct {
	Patch      *patch      `json:"patch,omitempty"`
	Event      *Event      `json:"event,omitempty"`
	Finalizers *finalizers `json:"finalizers,omitempty"`
	Delete     bool        `json:"delete,omitempty"`
	Apply      *apply      `json:"apply,omitempty"`
}

type patch struct {
	Subresource   string         `json:"subresource,omitempty"`
	Root          string         `json:"root,omitempty"`
	Template      string         `json:"template,omitempty"`
	Type          string         `json:"type,omitempty"`
	Impersonation *impersonation `json:"impersonation,omitempty"`
}

type apply struct {
	Template      string         `json:"template,omitempty"`
	Subresource   string         `json:"subresource,omitempty"`
	Type          string         `json:"type,omitempty"`
	Impersonation *impersonation `json:"impersonation,omitempty"`
}

type impersonation struct {
	Username string `json:"username"`
}

type finalizers struct {
	Add    []finalizer `json:"add,omitempty"`
	Remove []finalizer `json:"remove,omitempty"`
	Empty  bool        `json:"empty,omitempty"`
}

type finalizer struct {
	Value string `json:"value,omitempty"`
}

// Event is an event about the object.
type Event struct {
	Type    string `json:"type,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}
