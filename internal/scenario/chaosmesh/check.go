package chaosmesh

import (
	"errors"
	"fmt"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Check returns why an object cannot be run, which its status would say later. It accepts
// objects of other groups.
func Check(object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	if kind.Group != Group {
		return nil
	}
	if kind.Version != Version {
		return fmt.Errorf("apiVersion %q: of Chaos Mesh there is only %s/%s", object.GetAPIVersion(), Group, Version)
	}
	switch kind.Kind {
	case KindPodChaos, KindNetworkChaos, KindDNSChaos, KindHTTPChaos:
		spec := experimentOf(kind.Kind)
		if err := specOf(object, spec); err != nil {
			return err
		}
		return checkExperiment(spec)
	case KindSchedule:
		var spec ScheduleSpec
		if err := specOf(object, &spec); err != nil {
			return err
		}
		return spec.check()
	case KindWorkflow:
		var spec WorkflowSpec
		if err := specOf(object, &spec); err != nil {
			return err
		}
		return spec.check()
	}
	if reason := refused()[kind.Kind]; reason != "" {
		return errors.New(notRun(kind.Kind, reason))
	}
	return fmt.Errorf("of Chaos Mesh's kinds only %s, %s, %s, %s, %s and %s are run", KindPodChaos, KindNetworkChaos, KindDNSChaos, KindHTTPChaos, KindSchedule, KindWorkflow)
}

func checkExperiment(s experimentSpec) error {
	faults, err := s.Fault("default")
	if err != nil {
		return err
	}
	for _, f := range faults {
		if problems := f.Validate(); len(problems) > 0 {
			return fmt.Errorf("spec: %w", problems[0])
		}
	}
	return nil
}

func (s *ScheduleSpec) check() error {
	if _, err := cron.ParseStandard(s.Schedule); err != nil {
		return fmt.Errorf("spec.schedule %q: %w", s.Schedule, err)
	}
	if spec := s.of(s.Type); spec != nil {
		return checkExperiment(spec)
	}
	if s.Type == KindWorkflow && s.Workflow != nil {
		return s.Workflow.check()
	}
	if reason := refused()[s.Type]; reason != "" {
		return fmt.Errorf("spec.type: %s", notRun(s.Type, reason))
	}
	return fmt.Errorf("spec.type %q: only %s, %s, %s, %s and %s can be scheduled, and their spec must be there", s.Type, KindPodChaos, KindNetworkChaos, KindDNSChaos, KindHTTPChaos, KindWorkflow)
}

func (s *WorkflowSpec) check() error {
	w := newFlow(nil, nil, s)
	if err := w.check(s.Entry, nil); err != nil {
		return err
	}
	for i := range s.Templates {
		t := &s.Templates[i]
		var err error
		if spec := t.experiment(); spec != nil {
			err = checkExperiment(spec)
		} else if t.Schedule != nil {
			err = t.Schedule.check()
		}
		if err != nil {
			return fmt.Errorf("template %s: %w", t.Name, err)
		}
	}
	return nil
}
