//go:build !linux

package main

// unmapProgram does nothing: other systems count the pages of a program that several processes share apart.
func unmapProgram() {}
