package resources

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func priorityLevelConfigurationRow() *Resource {
	kind := flowcontrolv1.SchemeGroupVersion.WithKind("PriorityLevelConfiguration")
	newLevel := func() runtime.Object { return &flowcontrolv1.PriorityLevelConfiguration{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "prioritylevelconfigurations",
		New:              newLevel,
		NewList:          func() runtime.Object { return &flowcontrolv1.PriorityLevelConfigurationList{} },
		Strategy: Strategy{
			StatusKeeps:          allMetadata,
			Reserve:              Reservations.ReserveFlow,
			ServerManager:        flowControlManager,
			Default:              on(defaultPriorityLevel),
			Generation:           true,
			Validate:             check(validation.PriorityLevelConfiguration),
			ValidateStatusUpdate: checkUpdate(validation.PriorityLevelConfigurationStatus),
		},
		Subresources: []Subresource{statusOf(kind, newLevel)},
	}
}

func defaultPriorityLevel(l *flowcontrolv1.PriorityLevelConfiguration) {
	if e := l.Spec.Exempt; e != nil {
		pointDefault(&e.NominalConcurrencyShares, 0)
		pointDefault(&e.LendablePercent, 0)
	}
	limited := l.Spec.Limited
	if limited == nil {
		return
	}
	pointDefault(&limited.NominalConcurrencyShares, 30)
	pointDefault(&limited.LendablePercent, 0)
	if q := limited.LimitResponse.Queuing; q != nil {
		setDefault(&q.HandSize, 8)
		setDefault(&q.Queues, 64)
		setDefault(&q.QueueLengthLimit, 50)
	}
}
