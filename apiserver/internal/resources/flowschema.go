package resources

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

// defaultPrecedence is the default matching precedence.
const defaultPrecedence int32 = 1000

// flowControlManager is the field manager of the objects that the apiserver creates.
const flowControlManager = "api-priority-and-fairness-config-producer-v1"

func flowSchemaRow() *Resource {
	kind := flowcontrolv1.SchemeGroupVersion.WithKind("FlowSchema")
	newSchema := func() runtime.Object { return &flowcontrolv1.FlowSchema{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "flowschemas",
		New:              newSchema,
		NewList:          func() runtime.Object { return &flowcontrolv1.FlowSchemaList{} },
		Strategy: Strategy{
			StatusKeeps:          allMetadata,
			Reserve:              Reservations.ReserveFlow,
			ServerManager:        flowControlManager,
			Default:              on(func(s *flowcontrolv1.FlowSchema) { setDefault(&s.Spec.MatchingPrecedence, defaultPrecedence) }),
			Generation:           true,
			Validate:             check(validation.FlowSchema),
			ValidateStatusUpdate: checkUpdate(validation.FlowSchemaStatus),
		},
		Subresources: []Subresource{statusOf(kind, newSchema)},
	}
}
