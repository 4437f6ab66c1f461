package crd

import (
	"fmt"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/internal/regexcost"
)

const (
	// maxPatternSteps limits the steps of matching one object with its schema's patterns: a
	// step for each byte of a string and each instruction of a compiled pattern, about five
	// nanoseconds. A pattern of 100 instructions takes a string of 3 MB, a pattern of 3,000
	// one of 100 kB.
	maxPatternSteps = 300_000_000
	// maxPatternInstructions limits the compiled patterns of a definition, about 40 bytes an
	// instruction. Repeats compile to a thousand times their text.
	maxPatternInstructions = 1_000_000
)

// patterns are the patterns in a schema, by the values that they are matched with.
type patterns struct {
	// instructions is the sum of this value's patterns.
	instructions int
	// rules is the cost of this value's rules.
	rules      ruleCost
	properties map[string]*patterns
	// items are the patterns of a list's items, others the patterns of a map's other
	// properties; both may be nil.
	items, others *patterns
}

// patternsOf returns the patterns of a schema; nil for none.
func patternsOf(s *structuralschema.Structural) *patterns {
	if s == nil {
		return nil
	}
	p := &patterns{items: patternsOf(s.Items), rules: rulesCost(s.XValidations)}
	if s.AdditionalProperties != nil {
		p.others = patternsOf(s.AdditionalProperties.Structural)
	}
	for name := range s.Properties {
		property := s.Properties[name]
		p.property(name, patternsOf(&property))
	}
	if s.ValueValidation != nil {
		p.addAll(s.ValueValidation)
	}
	return p.orNil()
}

// orNil returns nil if there is no pattern.
func (p *patterns) orNil() *patterns {
	if p.instructions == 0 && p.rules == (ruleCost{}) && p.items == nil && p.others == nil && len(p.properties) == 0 {
		return nil
	}
	return p
}

func (p *patterns) property(name string, of *patterns) {
	if of == nil {
		return
	}
	if p.properties == nil {
		p.properties = map[string]*patterns{}
	}
	p.properties[name] = both(p.properties[name], of)
}

// both returns the patterns of both; either may be nil.
func both(a, b *patterns) *patterns {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	a.instructions += b.instructions
	a.rules = a.rules.with(b.rules)
	a.items, a.others = both(a.items, b.items), both(a.others, b.others)
	for name, of := range b.properties {
		a.property(name, of)
	}
	return a
}

// addAll adds the patterns of a value's validation, which may be nested in others.
func (p *patterns) addAll(v *structuralschema.ValueValidation) {
	if v.Pattern != "" {
		// A pattern that does not compile is an error of the schema.
		size, _ := regexcost.Instructions(v.Pattern)
		p.instructions += size
	}
	for _, list := range [][]structuralschema.NestedValueValidation{v.AllOf, v.AnyOf, v.OneOf} {
		for i := range list {
			p.addNested(&list[i])
		}
	}
	p.addNested(v.Not)
}

func (p *patterns) addNested(v *structuralschema.NestedValueValidation) {
	if v == nil {
		return
	}
	p.addAll(&v.ValueValidation)
	p.rules = p.rules.with(rulesCost(v.XValidations))
	p.items = both(p.items, nestedPatterns(v.Items))
	p.others = both(p.others, nestedPatterns(v.AdditionalProperties))
	for name := range v.Properties {
		property := v.Properties[name]
		p.property(name, nestedPatterns(&property))
	}
}

func nestedPatterns(v *structuralschema.NestedValueValidation) *patterns {
	p := &patterns{}
	p.addNested(v)
	return p.orNil()
}

// total returns the instructions of all patterns.
func (p *patterns) total() int {
	if p == nil {
		return 0
	}
	sum := p.instructions + p.items.total() + p.others.total()
	for _, property := range p.properties {
		sum += property.total()
	}
	return sum
}

// check returns an error if matching the value takes more than the steps that are left,
// and subtracts the steps that it takes.
func (p *patterns) check(path *field.Path, value any, left *int) *field.Error {
	if p == nil {
		return nil
	}
	if err := p.rules.check(path, value); err != nil {
		return err
	}
	switch typed := value.(type) {
	case string:
		if *left -= p.instructions * len(typed); *left < 0 {
			return field.Invalid(path, field.OmitValueType{}, fmt.Sprintf(
				"matching the object with its schema's patterns takes more than %d steps, here a string of %d bytes with patterns of %d instructions: shorten the string, or repeat less in the pattern",
				maxPatternSteps, len(typed), p.instructions))
		}
	case []any:
		for i, item := range typed {
			if err := p.items.check(path.Index(i), item, left); err != nil {
				return err
			}
		}
	case map[string]any:
		return p.checkMap(path, typed, left)
	}
	return nil
}

func (p *patterns) checkMap(path *field.Path, object map[string]any, left *int) *field.Error {
	if p.others == nil {
		for name, of := range p.properties {
			if value, found := object[name]; found {
				if err := of.check(path.Child(name), value, left); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for name, value := range object {
		of, known := p.properties[name]
		if !known {
			of = p.others
		}
		if err := of.check(path.Key(name), value, left); err != nil {
			return err
		}
	}
	return nil
}

// validatePatterns returns an error for a definition's version whose patterns are too
// large, or take too long to match with the schema's own defaults.
func validatePatterns(path *field.Path, s *structuralschema.Structural) field.ErrorList {
	p := patternsOf(s)
	if total := p.total(); total > maxPatternInstructions {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, fmt.Sprintf(
			"the patterns compile to %d instructions, at most %d are allowed: repeat less in them", total, maxPatternInstructions))}
	}
	left := maxPatternSteps
	if err := checkDefaults(path, s, &left); err != nil {
		return field.ErrorList{err}
	}
	return nil
}

// checkDefaults checks the defaults in a schema, which are validated when it is created.
func checkDefaults(path *field.Path, s *structuralschema.Structural, left *int) *field.Error {
	if s == nil {
		return nil
	}
	if s.Default.Object != nil {
		if err := patternsOf(s).check(path.Child("default"), s.Default.Object, left); err != nil {
			return err
		}
	}
	if err := checkDefaults(path.Child("items"), s.Items, left); err != nil {
		return err
	}
	if s.AdditionalProperties != nil {
		if err := checkDefaults(path.Child("additionalProperties"), s.AdditionalProperties.Structural, left); err != nil {
			return err
		}
	}
	for name := range s.Properties {
		property := s.Properties[name]
		if err := checkDefaults(path.Child("properties").Key(name), &property, left); err != nil {
			return err
		}
	}
	return nil
}
