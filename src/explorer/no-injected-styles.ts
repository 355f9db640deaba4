/**
 * Stands in for react-style-singleton, with which dialogs put a style into the page to stop it from scrolling. The
 * policy refuses such styles, and this page does not scroll.
 */
export const styleSingleton = () => () => null;
