//! A message log that its writer never waits for and never allocates for: the parts that AOS, the robot
//! operating system of FRC team 971, writes and reads.
