// What the page knows of its own connection: is the server reachable, is a sign-in needed.
class Session {
  online = $state(true);
  signedOut = $state(false);
  /** Milliseconds by which the server's clock is ahead of this device's. */
  skew = $state(0);

  reached() {
    this.online = true;
  }
  lost() {
    this.online = false;
  }
  expired() {
    this.signedOut = true;
  }
  signedIn() {
    this.signedOut = false;
  }
  /** Takes the time of a response, so that a wrong clock of the device changes no duration. */
  saw(date: string | null) {
    const time = date ? Date.parse(date) : NaN;
    if (!Number.isNaN(time)) this.skew = Math.abs(time - Date.now()) > 5000 ? time - Date.now() : 0;
  }
  /** The time of the server, in milliseconds since 1970. */
  now() {
    return Date.now() + this.skew;
  }
}

export const session = new Session();
