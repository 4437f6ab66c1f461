package main

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestFind(t *testing.T) {
	file := func(content string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(content)} }
	targets, err := find(fstest.MapFS{
		"a_test.go":            file("package a\nfunc FuzzA() {}\nfunc TestA() {}\nfunc (x) FuzzMethod() {}"),
		"a.go":                 file("package a\nfunc FuzzNoTest() {}"),
		"b/c/c_test.go":        file("package c\nfunc FuzzC() {}\nfunc FuzzD() {}"),
		"b/testdata/x_test.go": file("package x\nfunc FuzzX() {}"),
		"nested/go.mod":        file("module nested"),
		"nested/n_test.go":     file("package n\nfunc FuzzN() {}"),
		".hidden/h_test.go":    file("package h\nfunc FuzzH() {}"),
	})
	want := []target{{"./.", "FuzzA"}, {"./b/c", "FuzzC"}, {"./b/c", "FuzzD"}}
	if err != nil || !slices.Equal(targets, want) {
		t.Errorf("got %v, %v; want %v", targets, err, want)
	}
}
