//go:build unix

package main

// prepareConsole does nothing: terminals show colors.
func prepareConsole() {}
