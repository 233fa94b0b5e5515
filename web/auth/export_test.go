package auth

// What the tests of the package's outside need of its inside.

// Occupy takes every turn of a door and returns how to give them back.
func Occupy(d *Door) (leave func()) {
	for range cap(d.turns) {
		d.turns <- struct{}{}
	}
	return func() {
		for range cap(d.turns) {
			<-d.turns
		}
	}
}

// Turns is how many passwords a door has verified.
func Turns(d *Door) int64 { return d.verified.Load() }
