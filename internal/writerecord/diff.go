package writerecord

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Change is a field that changed. Path is in the notation of kubectl explain, with the
// key of a list item in brackets; From and To are shortened texts, empty if the field
// was or is not set. The values of secrets are never included.
type Change struct {
	Path string `json:"path"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

const (
	// maxChanges caps the changes recorded for one write, maxValue the length of a
	// value's text.
	maxChanges = 8
	maxValue   = 60
)

// ignored are the fields whose changes add nothing to the changes of other fields.
var ignored = []string{
	"managedFields", "deletionGracePeriodSeconds", "hostIPs", "podIPs", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink",
	"startTime", "startedAt", "finishedAt", "containerID", "lastTransitionTime", "lastHeartbeatTime", "lastUpdateTime", "lastProbeTime", "lastScheduleTime", "observedGeneration", "renewTime",
	"[kubectl.kubernetes.io/last-applied-configuration]", "[deployment.kubernetes.io/desired-replicas]", "[deployment.kubernetes.io/max-replicas]",
}

// plans are the compared fields of each type, as []field by reflect.Type. They are not a field of Log, whose
// importers would compile sync.Map (docs/decisions/0062-what-importers-compile.md).
var plans sync.Map

type field struct {
	index  int
	name   string
	inline bool
}

// diff returns the changes between two objects of one type. It is fast because it sees every write: it skips
// parts that both objects share, and allocates nothing before it finds a difference.
func diff(old, obj runtime.Object) []Change {
	if old == nil || obj == nil || old == obj {
		return nil
	}
	if _, event := obj.(*corev1.Event); event {
		return nil
	}
	if a, ok := old.(runtime.Unstructured); ok {
		b, ok := obj.(runtime.Unstructured)
		if !ok {
			return nil
		}
		w := &walk{}
		w.any(a.UnstructuredContent(), b.UnstructuredContent())
		return w.changes()
	}
	a, b := reflect.ValueOf(old), reflect.ValueOf(obj)
	if a.Type() != b.Type() || a.Kind() != reflect.Pointer {
		return nil
	}
	w := &walk{}
	w.values(a.Elem(), b.Elem())
	return w.changes()
}

// walk is one comparison.
type walk struct {
	path  []string
	found [maxChanges]Change
	count int
}

func (w *walk) add(from, to string) {
	if w.count < maxChanges && from != to {
		w.found[w.count] = Change{Path: joined(w.path), From: from, To: to}
		w.count++
	}
}

// changes returns the differences, in a slice without spare room: the log keeps it.
func (w *walk) changes() []Change {
	if w.count == 0 {
		return nil
	}
	return slices.Clone(w.found[:w.count])
}

// joined joins names with dots, except before brackets.
func joined(path []string) string {
	var b strings.Builder
	for i, name := range path {
		if i > 0 && !strings.HasPrefix(name, "[") {
			b.WriteByte('.')
		}
		b.WriteString(name)
	}
	return b.String()
}

func (w *walk) within(name string, look func()) {
	if w.count == maxChanges || slices.Contains(ignored, name) {
		return
	}
	w.path = append(w.path, name)
	look()
	w.path = w.path[:len(w.path)-1]
}

func (w *walk) values(a, b reflect.Value) {
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		switch {
		case a.Kind() == reflect.Pointer && a.Pointer() == b.Pointer():
		case a.IsNil() || b.IsNil():
			w.add(text(a), text(b))
		default:
			w.values(a.Elem(), b.Elem())
		}
	case reflect.Struct:
		w.structs(a, b)
	case reflect.Slice:
		if a.Len() != b.Len() || a.Pointer() != b.Pointer() {
			w.slices(a, b)
		}
	case reflect.Map:
		if a.Pointer() != b.Pointer() {
			w.maps(a, b)
		}
	default:
		if !a.Equal(b) {
			w.add(text(a), text(b))
		}
	}
}

func (w *walk) structs(a, b reflect.Value) {
	switch old := a.Addr().Interface().(type) {
	case *metav1.Time:
		if !old.Equal(b.Addr().Interface().(*metav1.Time)) {
			w.add(text(a), text(b))
		}
		return
	case *metav1.MicroTime:
		if !old.Equal(b.Addr().Interface().(*metav1.MicroTime)) {
			w.add(text(a), text(b))
		}
		return
	case *resource.Quantity:
		if old.Cmp(*b.Addr().Interface().(*resource.Quantity)) != 0 {
			w.add(text(a), text(b))
		}
		return
	case *intstr.IntOrString:
		w.add(text(a), text(b))
		return
	}
	for _, f := range fieldsOf(a.Type()) {
		if f.inline {
			w.values(a.Field(f.index), b.Field(f.index))
			continue
		}
		if w.count == maxChanges {
			return
		}
		w.path = append(w.path, f.name)
		w.values(a.Field(f.index), b.Field(f.index))
		w.path = w.path[:len(w.path)-1]
	}
}

// fieldsOf returns the fields of a type that are compared.
func fieldsOf(t reflect.Type) []field {
	if known, ok := plans.Load(t); ok {
		return known.([]field)
	}
	var all []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Type == reflect.TypeFor[metav1.TypeMeta]() || slices.Contains(ignored, name) {
			continue
		}
		all = append(all, field{i, name, name == "" && (f.Anonymous || strings.Contains(options, "inline"))})
	}
	plans.Store(t, all)
	return all
}

func (w *walk) slices(a, b reflect.Value) {
	elem := a.Type().Elem()
	if elem.Kind() != reflect.Struct {
		w.add(text(a), text(b))
		return
	}
	key := keyOf(elem)
	if key < 0 {
		if a.Len() != b.Len() {
			w.add(text(a), text(b))
			return
		}
		for i := range a.Len() {
			w.within("["+strconv.Itoa(i)+"]", func() { w.values(a.Index(i), b.Index(i)) })
		}
		return
	}
	for i := range b.Len() {
		item := b.Index(i)
		old := find(a, i, key, item.Field(key).String())
		if old.IsValid() {
			w.path = append(w.path, "["+item.Field(key).String()+"]")
			w.values(old, item)
			w.path = w.path[:len(w.path)-1]
			continue
		}
		w.within("["+item.Field(key).String()+"]", func() { w.add("", text(item)) })
	}
	for i := range a.Len() {
		item := a.Index(i)
		if name := item.Field(key).String(); !find(b, i, key, name).IsValid() {
			w.within("["+name+"]", func() { w.add(text(item), "") })
		}
	}
}

// keyOf returns the index of the field that identifies items of a list; -1: none.
func keyOf(t reflect.Type) int {
	for _, name := range []string{"Type", "Name", "Key", "IP", "UID"} {
		if f, ok := t.FieldByName(name); ok && len(f.Index) == 1 && f.Type.Kind() == reflect.String {
			return f.Index[0]
		}
	}
	return -1
}

// find returns the item with a key. It tries the index at first.
func find(list reflect.Value, at, key int, name string) reflect.Value {
	if at < list.Len() && list.Index(at).Field(key).String() == name {
		return list.Index(at)
	}
	for i := range list.Len() {
		if list.Index(i).Field(key).String() == name {
			return list.Index(i)
		}
	}
	return reflect.Value{}
}

func (w *walk) maps(a, b reflect.Value) {
	if a.Len() == 0 && b.Len() == 0 || equalMaps(a.Interface(), b.Interface()) {
		return
	}
	for _, key := range keysOf(a, b) {
		old, item := a.MapIndex(key), b.MapIndex(key)
		w.within("["+fmt.Sprint(key)+"]", func() {
			switch {
			case !old.IsValid() || !item.IsValid():
				w.add(text(old), text(item))
			case item.Type() == reflect.TypeFor[resource.Quantity]():
				w.add(text(old), text(item))
			case item.Kind() == reflect.Struct: // not addressable
				if !reflect.DeepEqual(old.Interface(), item.Interface()) {
					w.add(text(old), text(item))
				}
			default:
				w.values(old, item)
			}
		})
	}
}

// equalMaps compares the two types of maps that most objects have.
func equalMaps(a, b any) bool {
	switch a := a.(type) {
	case map[string]string:
		return maps.Equal(a, b.(map[string]string))
	case corev1.ResourceList:
		return maps.EqualFunc(a, b.(corev1.ResourceList), func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
	}
	return false
}

// keysOf returns the keys of both maps, sorted.
func keysOf(a, b reflect.Value) []reflect.Value {
	keys := b.MapKeys()
	for _, key := range a.MapKeys() {
		if !b.MapIndex(key).IsValid() {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(fmt.Sprint(x), fmt.Sprint(y)) })
	return keys
}

// text returns a readable, shortened value; empty if it is not set.
func text(v reflect.Value) string {
	if !v.IsValid() || v.IsZero() && v.Kind() != reflect.Bool && v.Kind() != reflect.Int32 && v.Kind() != reflect.Int64 && v.Kind() != reflect.Int {
		return ""
	}
	if (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0 {
		return ""
	}
	switch x := v.Interface().(type) {
	case []byte:
		return strconv.Itoa(len(x)) + " bytes"
	case metav1.Time:
		return x.UTC().Format(time.RFC3339)
	case metav1.MicroTime:
		return x.UTC().Format(time.RFC3339Nano)
	case resource.Quantity:
		return x.String()
	case intstr.IntOrString:
		return x.String()
	case []string:
		return shortened(strings.Join(x, ", "), maxValue)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return text(v.Elem())
	case reflect.Struct:
		return structText(v)
	case reflect.Slice:
		return plural(v.Len(), "item")
	case reflect.Map:
		return plural(v.Len(), "entry")
	}
	return shortened(fmt.Sprint(v.Interface()), maxValue)
}

// structText returns the state of a struct that has one, such as a condition or a taint,
// and "set" for any other.
func structText(v reflect.Value) string {
	field := func(name string) string {
		if f := v.FieldByName(name); f.IsValid() && f.Kind() == reflect.String {
			return f.String()
		}
		return ""
	}
	if status := field("Status"); status != "" {
		return stateText(status, field("Reason"))
	}
	for _, name := range []string{"Effect", "Value", "Reason"} {
		if text := field(name); text != "" {
			return shortened(text, maxValue)
		}
	}
	return "set"
}

// stateText returns a condition's status, with its reason unless the status is True.
func stateText(status, reason string) string {
	if status == string(corev1.ConditionTrue) || reason == "" {
		return shortened(status, maxValue)
	}
	return shortened(status+" ("+reason+")", maxValue)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if what == "entry" {
		what = "entrie"
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// shortened returns text for one line of a terminal: at most limit characters, without
// control characters.
func shortened(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}
