package columns

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Table is the Table form of one kind: its columns, and the cells of one object,
// one for each column, at the time now.
type Table struct {
	Columns []metav1.TableColumnDefinition
	// Cells panics when it is given an object of another kind than the Table's.
	Cells func(obj runtime.Object, now time.Time) []any
}

type column = metav1.TableColumnDefinition

// table binds columns to the function that fills them for the objects of one type.
func table[T runtime.Object](cells func(obj T, now time.Time) []any, columns ...column) Table {
	return Table{
		Columns: columns,
		Cells:   func(obj runtime.Object, now time.Time) []any { return cells(obj.(T), now) },
	}
}

// Default is the Table of kinds that have no columns of their own: name and age.
func Default() Table {
	return table(func(obj runtime.Object, now time.Time) []any {
		m, ok := obj.(metav1.Object)
		if !ok {
			return []any{"", unknown}
		}
		return []any{m.GetName(), age(m.GetCreationTimestamp(), now)}
	}, nameColumn(), ageColumn())
}

func nameColumn() column {
	return column{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]}
}

func ageColumn() column {
	return text("Age", metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"])
}

func text(name, description string) column {
	return column{Name: name, Type: "string", Description: description}
}

func integer(name, description string) column {
	return column{Name: name, Type: "integer", Description: description}
}

func boolean(name, description string) column {
	return column{Name: name, Type: "boolean", Description: description}
}

// wide makes a column one that is shown only by kubectl get -o wide.
func wide(c column) column {
	c.Priority = 1
	return c
}
