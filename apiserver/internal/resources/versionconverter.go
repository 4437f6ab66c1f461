package resources

import (
	"context"
	"reflect"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// versionConverter converts between a version of a kind and the stored one.
type versionConverter struct {
	stored *Resource
	obj    reflect.Type
}

func (c versionConverter) to(obj runtime.Object) runtime.Object {
	stored := c.stored.New()
	copyByName(reflect.ValueOf(stored).Elem(), reflect.ValueOf(obj).Elem())
	return stored
}

func (c versionConverter) from(stored runtime.Object) runtime.Object {
	obj := reflect.New(c.obj)
	copyByName(obj.Elem(), reflect.ValueOf(stored).Elem())
	return obj.Interface().(runtime.Object)
}

// strategy returns a strategy that applies the stored version's to converted objects.
func (c versionConverter) strategy(s *Strategy) Strategy {
	converted := *s
	change := func(f func(obj runtime.Object)) func(runtime.Object) {
		if f == nil {
			return nil
		}
		return func(obj runtime.Object) {
			stored := c.to(obj)
			f(stored)
			reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(c.from(stored)).Elem())
		}
	}
	changeFrom := func(f func(obj, old runtime.Object)) func(obj, old runtime.Object) {
		if f == nil {
			return nil
		}
		return func(obj, old runtime.Object) {
			change(func(stored runtime.Object) { f(stored, c.to(old)) })(obj)
		}
	}
	check := func(f func(obj runtime.Object) field.ErrorList) func(runtime.Object) field.ErrorList {
		if f == nil {
			return nil
		}
		return func(obj runtime.Object) field.ErrorList { return f(c.to(obj)) }
	}
	checkFrom := func(f func(obj, old runtime.Object) field.ErrorList) func(obj, old runtime.Object) field.ErrorList {
		if f == nil {
			return nil
		}
		return func(obj, old runtime.Object) field.ErrorList { return f(c.to(obj), c.to(old)) }
	}
	converted.Default, converted.PrepareCreate, converted.MarkDeleted = change(s.Default), change(s.PrepareCreate), change(s.MarkDeleted)
	converted.PrepareUpdate, converted.PrepareStatusUpdate = changeFrom(s.PrepareUpdate), changeFrom(s.PrepareStatusUpdate)
	converted.Validate, converted.ValidateCreate = check(s.Validate), check(s.ValidateCreate)
	converted.ValidateUpdate, converted.ValidateStatusUpdate = checkFrom(s.ValidateUpdate), checkFrom(s.ValidateStatusUpdate)
	c.convertTimed(s, &converted)
	return converted
}

// convertTimed converts the functions of a strategy that have more arguments than objects.
func (c versionConverter) convertTimed(s, converted *Strategy) {
	before := func(old runtime.Object) runtime.Object {
		if old == nil {
			return nil
		}
		return c.to(old)
	}
	if f := s.PrepareStatusUpdateAt; f != nil {
		converted.PrepareStatusUpdateAt = func(obj, old runtime.Object, now metav1.Time) {
			stored := c.to(obj)
			f(stored, c.to(old), now)
			reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(c.from(stored)).Elem())
		}
	}
	if f := s.ValidateStatusUpdateAt; f != nil {
		converted.ValidateStatusUpdateAt = func(obj, old runtime.Object, now time.Time) field.ErrorList { return f(c.to(obj), c.to(old), now) }
	}
	if f := s.Warnings; f != nil {
		converted.Warnings = func(obj, old runtime.Object) []string { return f(c.to(obj), before(old)) }
	}
	if f := s.Reserve; f != nil {
		converted.Reserve = func(r Reservations, ctx context.Context, obj, old runtime.Object, dryRun bool) (func(error), error) {
			return f(r, ctx, c.to(obj), before(old), dryRun)
		}
	}
}

// copyByName copies the fields of one version of a type to another one, by their names. Fields of the same
// type are shared.
func copyByName(to, from reflect.Value) {
	if to.Type() == from.Type() {
		to.Set(from)
		return
	}
	if copyShape(to, from) {
		return
	}
	switch {
	case from.Kind() == reflect.Pointer && to.Kind() == reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
			copyByName(to.Elem(), from.Elem())
		}
	case from.Kind() == reflect.Pointer:
		if !from.IsNil() {
			copyByName(to, from.Elem())
		}
	case to.Kind() == reflect.Pointer:
		if !from.IsZero() {
			to.Set(reflect.New(to.Type().Elem()))
			copyByName(to.Elem(), from)
		}
	case to.Kind() == reflect.Struct:
		copyFields(to, from)
	case to.Kind() == reflect.Slice:
		if !from.IsNil() {
			to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
			for i := range from.Len() {
				copyByName(to.Index(i), from.Index(i))
			}
		}
	case to.Kind() == reflect.Map:
		if !from.IsNil() {
			to.Set(reflect.MakeMapWithSize(to.Type(), from.Len()))
			for _, key := range from.MapKeys() {
				k, value := reflect.New(to.Type().Key()).Elem(), reflect.New(to.Type().Elem()).Elem()
				copyByName(k, key)
				copyByName(value, from.MapIndex(key))
				to.SetMapIndex(k, value)
			}
		}
	default:
		to.Set(from.Convert(to.Type()))
	}
}

func copyFields(to, from reflect.Value) {
	for i := range to.NumField() {
		if source := from.FieldByName(to.Type().Field(i).Name); source.IsValid() {
			copyByName(to.Field(i), source)
		}
	}
}

// copyShape copies types whose fields are arranged differently in the two versions. It reports false for
// others.
func copyShape(to, from reflect.Value) bool {
	switch {
	case from.Type() == reflect.TypeFor[resourcev1beta1.DeviceRequest]():
		// A request of v1beta1 has the fields of an exact request itself.
		copyFields(to, from)
		exact := &resourcev1.ExactDeviceRequest{}
		copyFields(reflect.ValueOf(exact).Elem(), from)
		if !reflect.ValueOf(exact).Elem().IsZero() {
			to.FieldByName("Exactly").Set(reflect.ValueOf(exact))
		}
	case to.Type() == reflect.TypeFor[resourcev1beta1.DeviceRequest]():
		if exact := from.FieldByName("Exactly"); !exact.IsNil() {
			copyFields(to, exact.Elem())
		}
		copyFields(to, from)
	case from.Type() == reflect.TypeFor[resourcev1beta1.Device]():
		// A device of v1beta1 has its properties in Basic.
		copyFields(to, from)
		if basic := from.FieldByName("Basic"); !basic.IsNil() {
			copyFields(to, basic.Elem())
		}
	case to.Type() == reflect.TypeFor[resourcev1beta1.Device]():
		copyFields(to, from)
		basic := &resourcev1beta1.BasicDevice{}
		copyFields(reflect.ValueOf(basic).Elem(), from)
		to.FieldByName("Basic").Set(reflect.ValueOf(basic))
	default:
		return false
	}
	return true
}
