package apiserver

import (
	"cmp"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/apiserver/auth"
)

// classify sets upstream's response headers with the FlowSchema and priority level of a
// request from the network. They have no other effect.
func (s *Server) classify(rq *call) {
	if rq.Local {
		return
	}
	schema := s.flowSchemaOf(rq)
	if schema == nil {
		return
	}
	rq.Writer.Header().Set(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID, string(schema.UID))
	if level := s.priorityLevel(rq, schema.Spec.PriorityLevelConfiguration.Name); level != "" {
		rq.Writer.Header().Set(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID, string(level))
	}
}

// flowSchemaOf returns the matching FlowSchema with the lowest precedence, then name;
// nil if there is none.
func (s *Server) flowSchemaOf(rq *call) *flowcontrolv1.FlowSchema {
	objects := s.stored[flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas")]
	if objects == nil {
		return nil
	}
	known, err := objects.KnownIn(rq.HTTP.Context(), "")
	if err != nil {
		return nil
	}
	var best *flowcontrolv1.FlowSchema
	for _, obj := range known {
		schema, ok := obj.(*flowcontrolv1.FlowSchema)
		if !ok || best != nil && cmp.Or(cmp.Compare(schema.Spec.MatchingPrecedence, best.Spec.MatchingPrecedence), cmp.Compare(schema.Name, best.Name)) > 0 {
			continue
		}
		if slices.ContainsFunc(schema.Spec.Rules, func(rule flowcontrolv1.PolicyRulesWithSubjects) bool { return ruleMatches(&rule, rq) }) {
			best = schema
		}
	}
	return best
}

func (s *Server) priorityLevel(rq *call, name string) types.UID {
	objects := s.stored[flowcontrolv1.SchemeGroupVersion.WithResource("prioritylevelconfigurations")]
	if objects == nil {
		return ""
	}
	obj, err := objects.Known(rq.HTTP.Context(), objects.Key("", name))
	level, ok := obj.(*flowcontrolv1.PriorityLevelConfiguration)
	if err != nil || !ok {
		return ""
	}
	return level.UID
}

func ruleMatches(rule *flowcontrolv1.PolicyRulesWithSubjects, rq *call) bool {
	return slices.ContainsFunc(rule.Subjects, func(subject flowcontrolv1.Subject) bool { return subjectMatches(&subject, rq.User) }) &&
		slices.ContainsFunc(rule.ResourceRules, func(resource flowcontrolv1.ResourcePolicyRule) bool { return resourceMatches(&resource, rq) })
}

const (
	anything             = "*"
	serviceAccountPrefix = "system:serviceaccount:"
)

func subjectMatches(subject *flowcontrolv1.Subject, user *auth.User) bool {
	switch {
	case subject.User != nil:
		return subject.User.Name == anything || subject.User.Name == user.Name
	case subject.Group != nil:
		return subject.Group.Name == anything || slices.Contains(user.Groups, subject.Group.Name)
	case subject.ServiceAccount != nil:
		namespace, name, found := strings.Cut(strings.TrimPrefix(user.Name, serviceAccountPrefix), ":")
		return found && strings.HasPrefix(user.Name, serviceAccountPrefix) && namespace == subject.ServiceAccount.Namespace &&
			(subject.ServiceAccount.Name == anything || subject.ServiceAccount.Name == name)
	}
	return false
}

func resourceMatches(rule *flowcontrolv1.ResourcePolicyRule, rq *call) bool {
	resource := rq.GVR.Resource
	if rq.Subresource != "" {
		resource += "/" + rq.Subresource
	}
	if !has(rule.Verbs, rq.Verb) || !has(rule.APIGroups, rq.GVR.Group) || !has(rule.Resources, resource) {
		return false
	}
	if rq.Namespace == "" {
		return rule.ClusterScope
	}
	return has(rule.Namespaces, rq.Namespace)
}

func has(allowed []string, value string) bool {
	return slices.Contains(allowed, anything) || slices.Contains(allowed, value)
}
