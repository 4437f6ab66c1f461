package reasons

import (
	"strconv"
	"strings"
)

// RefuserKind is the kind of a refuser of requests.
type RefuserKind string

// The kinds of refusers.
const (
	ByWebhook RefuserKind = "webhook"
	ByPolicy  RefuserKind = "policy"
	ByQuota   RefuserKind = "quota"
	// ByBudget refuses evictions.
	ByBudget RefuserKind = "budget"
	// ByPlugin is an admission plugin other than those above.
	ByPlugin RefuserKind = "admissionPlugin"
	// ByAuthorization is the lack of a permission.
	ByAuthorization RefuserKind = "authorization"
	// ByFlowControl are API Priority and Fairness, and the limits of requests in flight and of
	// memory.
	ByFlowControl RefuserKind = "flowControl"
	// ByTimeout is the end of the time that the request, or its client, allows.
	ByTimeout RefuserKind = "timeout"
	// ByStore is an etcd that fails.
	ByStore RefuserKind = "store"
	// ByFault is a fault that was injected into the API server.
	ByFault RefuserKind = "fault"
)

// Refuser identifies the webhook, policy, quota, budget or plugin that refuses a request.
type Refuser struct {
	Kind RefuserKind `json:"kind"`
	// Name is the name of the webhook, policy, quota, budget or plugin. Of is the name of the
	// webhook's configuration, or of the policy's binding.
	Name string `json:"name,omitempty"`
	Of   string `json:"of,omitempty"`
}

// refuserTexts end the sentence "the request was refused ...". A name follows those that end in a
// blank.
var refuserTexts = map[RefuserKind]string{
	ByWebhook: "by webhook ", ByPolicy: "by policy ", ByQuota: "by quota ", ByBudget: "by PodDisruptionBudget ", ByPlugin: "by admission plugin ",
	ByAuthorization: "by RBAC", ByFlowControl: "by flow control", ByTimeout: "by time-out", ByStore: "by etcd", ByFault: "by a fault",
}

// String formats the refuser: "by webhook opa (validating-webhook.openpolicyagent.org)".
func (r Refuser) String() string {
	text := refuserTexts[r.Kind]
	switch {
	case text == "":
		return "by " + string(r.Kind)
	case text[len(text)-1] != ' ':
		return text
	case r.Name == "":
		return text[:len(text)-1]
	case r.Kind == ByWebhook && r.Of != "" && r.Of != r.Name:
		return text + r.Of + " (" + r.Name + ")"
	}
	return text + r.Name
}

// Refusal counts the refused requests that the object depends on, and names their refuser.
type Refusal struct {
	// What names the requests, such as "heartbeats of node-1".
	What  string
	Count int64
	By    Refuser
	// Message is the newest refusal's.
	Message string
}

// Sentence says what happened: "345 heartbeats of node-3 were refused by webhook opa".
func (r Refusal) Sentence() string {
	did := "were refused "
	if r.Count == 1 {
		did = "was refused "
	}
	if r.By.Kind == ByTimeout {
		did = "ended "
	}
	return strconv.FormatInt(r.Count, 10) + " " + r.what() + " " + did + r.By.String()
}

// what is What in the singular if it counts one request.
func (r Refusal) what() string {
	if r.Count != 1 {
		return r.What
	}
	noun, rest, _ := strings.Cut(r.What, " ")
	if one, found := strings.CutSuffix(noun, "ches"); found {
		noun = one + "ch"
	} else {
		noun = strings.TrimSuffix(noun, "s")
	}
	return noun + " " + rest
}
